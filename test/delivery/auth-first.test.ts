import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { deliveriesOf, MANIFEST, sendBySystem } from '../notifications/support.ts';
import { useMailWorld } from '../provider/mail/mail-world.ts';
import { KINDS } from '../support/databases.ts';
import { until } from './rows.ts';

describe.each(KINDS)('auth mails overtake all others (%s)', (kind) => {
  const world = useMailWorld(kind);

  test('an auth mail is sent while 80 mails of its brand wait for a silent server', async () => {
    await world.usher.app.manifests.apply(MANIFEST, { actor: 'cli' });
    await world.write((tx) => sql`update brand set is_default = slug = 'atelier'`.execute(tx.kysely));
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    world.sink.fault = { at: 'held', except: 'gigi@example.com', until: released };
    const recipients = Array.from({ length: 80 }, (_, at) => `reader${at}@example.com`);
    const order = { appCode: 'billing', recipients, subject: 'News', body: 'Hello.' };
    const sent = await sendBySystem(world.usher, order);
    expect(sent.status).toBe(202);
    const ids: number[] = sent.body.data.notifications.map(({ id }: { id: number }) => id);
    const states = async () => (await Promise.all(ids.map((id) => deliveriesOf(world.usher, id)))).flat();
    // As many as the worker takes at once are at the server; the others stand behind them.
    await until(states, (all) => all.some(({ status }) => status === 'sending'));

    const answer = await world.send({ to: 'gigi@example.com' });
    expect([answer.status, answer.body.data.status]).toEqual([200, 'sent']);
    expect(world.sink.mails.map(({ to }) => to)).toEqual([['gigi@example.com']]);
    expect((await states()).filter(({ status }) => status === 'sent')).toEqual([]);

    release();
    await until(states, (all) => all.every(({ status }) => status === 'sent'), 40_000);
    expect(world.sink.mails).toHaveLength(81);
  }, 60_000);
});
