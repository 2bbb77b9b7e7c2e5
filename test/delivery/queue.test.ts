import { beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { enqueue, writeDelivery } from '../../src/delivery/queue.ts';
import { forEachDatabase } from '../support/databases.ts';
import { accept, insertType, type Wanted } from './rows.ts';

/** More than one statement takes. */
const LARGE = 'ř'.repeat(400_000);

forEachDatabase('deliveries of more than one statement', (fixture) => {
  let type = { app: 0, type: 0 };
  let sends = 0;
  beforeAll(async () => {
    type = await insertType(fixture.database, 'many');
  });

  /** `texts` to a person each; answers what was stored for them, in their order. */
  async function stored(texts: readonly string[]): Promise<unknown[]> {
    const send = ++sends;
    const wanted = texts.map((text, at): Wanted => ({ to: `p${at}.${send}@example.com`, email: { text } }));
    const ids = await accept(fixture.database, type, wanted);
    return await fixture.database.read(async (tx) => {
      const { rows } = await sql<{ own: boolean; text: string }>`
        select d.content ->> 'to' = p.email as own, d.content ->> 'text' as text
          from delivery d join notification n on n.id = d.notification_id join person p on p.id = n.person_id
         where n.id = any(${ids}::bigint[]) order by n.id`.execute(tx.kysely);
      return rows;
    });
  }
  const own = (texts: readonly string[]) => texts.map((text) => ({ own: true, text }));
  const count = async () =>
    await fixture.database.read(async (tx) => {
      const { rows } = await sql<{ count: number }>`select count(*)::int as count from delivery`.execute(tx.kysely);
      return rows[0]?.count;
    });

  test.each([0, 600, 1100])('queued deliveries belong to their own people, with a huge one at %i', async (huge) => {
    const texts = Array.from({ length: 1101 }, (_, at) => (at === huge ? LARGE : `${at}: žluťoučký "kůň" \\ ${at}`));
    expect(await stored(texts)).toEqual(own(texts));
  });

  test('queued deliveries share no content with earlier or concurrent ones', async () => {
    const lengths = [9000, 3, 5000, 1];
    const sent = lengths.map((length, send) => Array.from({ length: 150 }, (_, at) => `${send}.${at}`.repeat(length)));
    expect(await Promise.all(sent.map(stored))).toEqual(sent.map(own));
    const short = Array.from({ length: 10 }, (_, at) => String(at));
    expect(await stored(short)).toEqual(own(short));
  });

  test('deliveries of a send are stored all or none, whatever fails', async () => {
    const ids = await accept(
      fixture.database,
      type,
      Array.from({ length: 600 }, (_, at) => ({ to: `q${at}@example.com` })),
    );
    const before = await count();
    const content = {
      to: 'p@example.com',
      subject: 'S',
      html: '',
      text: '',
      locale: 'en',
      fromName: null,
      unsubscribe: null,
    };
    const deliveryOf = (of: number) => writeDelivery(of, { channel: 'email', brandId: null, content });
    const many = ids.map(deliveryOf);
    const numbers = Promise.resolve(new Map(ids.map((id) => [id, id])));
    // Of each attempt its own: a transaction may be repeated.
    const store = (deliveries: () => AsyncIterable<(typeof many)[0]>, numbered = () => numbers) =>
      fixture.database.change(async (tx) => {
        await enqueue(tx, deliveries(), numbered());
        return { result: null, scopes: [] };
      });

    async function* endingBadly() {
      yield* many;
      throw new Error('not written');
    }
    await expect(store(endingBadly)).rejects.toThrow('not written');
    const unnumbered = [...many, deliveryOf(0)];
    await expect(store(() => ReadableStream.from(unnumbered))).rejects.toThrow();
    await expect(
      store(
        () => ReadableStream.from(many),
        () => Promise.reject(new Error('not numbered')),
      ),
    ).rejects.toThrow('not numbered');
    expect(await count()).toBe(before);
    await store(() => ReadableStream.from(many.slice(0, 1)));
    expect(await count()).toBe(Number(before) + 1);
  });
});
