import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { EventReader as Reader } from '../support/event-reader.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { describeApplications, sendBySystem } from './support.ts';

const STREAM = '/api/profile/me/notifications/stream';

async function until(holds: () => boolean): Promise<void> {
  const late = performance.now() + 15_000;
  while (!holds()) {
    if (performance.now() > late) throw new Error('it did not come to hold in time');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

for (const kind of KINDS) {
  describe(`the stream of notifications (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    /** Another instance on the same database; PGlite has one. */
    let other: RunningUsher;
    let closedOther = false;
    const readers: Reader[] = [];

    beforeAll(async () => {
      storage = await createStorage(kind);
      const env = { USHER_ROLES: 'gateway,rpc' };
      usher = await startUsher(storage, { env });
      await describeApplications(usher);
      other = kind === 'pglite' ? usher : await startUsher(storage, { env });
    }, 120_000);
    afterAll(async () => {
      for (const reader of readers) reader.close();
      if (other !== usher && !closedOther) await other?.close();
      if (!closedOther || other !== usher) await usher?.close();
      await storage?.remove();
    }, 60_000);

    const open = async (email: string, headers: Record<string, string> = {}): Promise<Reader> => {
      const reader = await Reader.open(other.rest + STREAM, await other.token(email), headers);
      readers.push(reader);
      return reader;
    };
    const send = (email: string, subject: string) =>
      sendBySystem(usher, { appCode: 'billing', recipients: [email], subject, payload: { subject } });

    test('a stream reports notifications and the unread count, from any instance', async () => {
      await send('ann@example.com', 'before');
      const reader = await open('ann@example.com');
      expect([reader.status, reader.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
      await reader.until(() => reader.counts().length === 1);
      expect(reader.counts()).toEqual([1]);
      const answer = await send('ann@example.com', 'first');
      await reader.until(() => reader.counts().length === 2);
      const [, told] = reader.told;
      const { body } = await (await Rest.as(usher, 'ann@example.com')).get(
        '/api/profile/me/notifications/inbox?limit=1',
      );
      expect(told).toEqual({
        event: 'notification',
        id: String(answer.body.data.notifications[0].id),
        data: body.response[0],
      });
      expect(reader.counts()).toEqual([1, 2]);
      // Of somebody else nothing is told.
      await send('ben@example.com', 'not yours');
      await (await Rest.as(usher, 'ann@example.com')).post('/api/profile/me/notifications/inbox/read-all');
      await reader.until(() => reader.counts().at(-1) === 0);
      expect(reader.subjects()).toEqual(['first']);
    });

    test('a stream resumes after Last-Event-ID, with at most the 200 newest missed ones', async () => {
      const sent = await send('cora@example.com', 'n0');
      const last = sent.body.data.notifications[0].id;
      await send('cora@example.com', 'n1');
      await send('cora@example.com', 'n2');
      const reader = await open('cora@example.com', { 'last-event-id': String(last) });
      await reader.until(() => reader.counts().length > 0);
      expect(reader.subjects()).toEqual(['n1', 'n2']);
      // Behind what never was: from now on.
      const ahead = await open('cora@example.com', { 'last-event-id': '999999999999' });
      await ahead.until(() => ahead.counts().length > 0);
      expect(ahead.subjects()).toEqual([]);

      await usher.app.database.change(async (tx) => {
        const row = await tx.kysely
          .selectFrom('notification')
          .selectAll()
          .where('id', '=', last)
          .executeTakeFirstOrThrow();
        const { id: _, payload, ...rest } = row;
        const rows = Array.from({ length: 230 }, (_unused, n) => ({
          ...rest,
          payload: JSON.stringify(payload),
          subject: `m${n}`,
        }));
        await tx.kysely.insertInto('notification').values(rows).execute();
        return { result: null, scopes: [] };
      });
      const many = await open('cora@example.com', { 'last-event-id': String(last) });
      await many.until(() => many.counts().length > 0);
      expect(many.subjects()).toHaveLength(200);
      expect([many.subjects()[0], many.subjects().at(-1)]).toEqual(['m30', 'm229']);
      await send('cora@example.com', 'live');
      await many.until(() => many.subjects().at(-1) === 'live');
      await ahead.until(() => ahead.subjects().at(-1) === 'live');
    });

    test('each of several streams gets every notification once and in order', async () => {
      const [one, two] = [await open('dora@example.com'), await open('dora@example.com')];
      await Promise.all(Array.from({ length: 10 }, (_, n) => send('dora@example.com', `d${n}`)));
      for (const reader of [one, two]) {
        await reader.until(() => reader.subjects().length >= 10);
        const ids = reader.told.filter(({ event }) => event === 'notification').map(({ id }) => Number(id));
        expect(ids).toEqual(ids.toSorted((a, b) => a - b));
        expect(new Set(ids).size).toBe(10);
      }
    });

    test('an eleventh stream of one user ends the oldest, on any instance', async () => {
      const opened: Reader[] = [];
      const openAt = async (instance: RunningUsher): Promise<void> => {
        const reader = await Reader.open(instance.rest + STREAM, await instance.token('eva@example.com'));
        readers.push(reader);
        opened.push(reader);
        await reader.until(() => reader.told.length > 0);
        // Which of two that are opened in one moment at two instances is the older one is not asked here.
        await new Promise((resolve) => setTimeout(resolve, 100));
      };
      const ended = () => opened.map((reader) => reader.ended);
      for (let n = 0; n < 10; n++) await openAt(n % 3 === 0 ? usher : other);
      // One that went by itself counts no longer.
      opened.splice(4, 1)[0]?.close();
      await openAt(other);
      await new Promise((resolve) => setTimeout(resolve, 700));
      expect(ended()).toEqual(Array.from({ length: 10 }, () => false));
      for (let n = 1; n <= 4; n++) {
        await openAt(n % 2 === 0 ? usher : other);
        const oldest = opened[n - 1] as Reader;
        await oldest.until(() => oldest.ended);
      }
      await new Promise((resolve) => setTimeout(resolve, 700));
      expect(ended()).toEqual(Array.from({ length: 14 }, (_, n) => n < 4));
      for (const reader of opened) reader.close();
    });

    test('many concurrent streams on two instances leave ten', async () => {
      const opened = await Promise.all(
        Array.from({ length: 24 }, async (_, n) => {
          const instance = n % 2 === 0 ? usher : other;
          return await Reader.open(instance.rest + STREAM, await instance.token('many@example.com'));
        }),
      );
      readers.push(...opened);
      const left = () => opened.filter((reader) => !reader.ended).length;
      await until(() => left() <= 10);
      await new Promise((resolve) => setTimeout(resolve, 700));
      expect(left()).toBe(10);
      for (const reader of opened) reader.close();
    });

    test('a stream ends with its token', async () => {
      const caller = { email: 'exp@example.com', expiresAt: Math.floor(Date.now() / 1000) + 2 };
      const events = await other.app.streams.open(caller, null);
      const told: string[] = [];
      for await (const together of events) told.push(...together.map(({ event }) => event));
      expect(told).toEqual(['unread-count']);
      expect(Date.now() / 1000).toBeGreaterThanOrEqual(caller.expiresAt);
    });

    test('a stream ends soon after the account is deactivated', async () => {
      const reader = await open('fay@example.com');
      await reader.until(() => reader.told.length > 0);
      await usher.app.database.change(async (tx) => {
        await tx.kysely
          .insertInto('person')
          .values({ email: 'fay@example.com', blocked: true })
          .onConflict((oc) => oc.column('email').doUpdateSet({ blocked: true }))
          .execute();
        return { result: null, scopes: ['u:fay@example.com'] };
      });
      await reader.until(() => reader.ended);
      const again = await Rest.as(usher, 'fay@example.com');
      expect((await again.get(STREAM)).body.details.code).toBe('USER_INACTIVE');
      expect((await (await Rest.as(usher)).get(STREAM)).status).toBe(401);
    });

    test('a stream ends with the account even when its reader has stopped reading', async () => {
      await send('hal@example.com', 'first');
      const { body } = await (await Rest.as(usher, 'hal@example.com')).get('/api/profile/me/notifications/inbox');
      const { id } = body.response[0];
      await usher.app.database.change(async (tx) => {
        const { id: _, ...row } = await tx.kysely
          .selectFrom('notification')
          .selectAll()
          .where('id', '=', id)
          .executeTakeFirstOrThrow();
        // More than the buffers of a connection hold.
        const payload = JSON.stringify({ text: 'x'.repeat(60_000) });
        for (let n = 0; n < 200; n++)
          await tx.kysely
            .insertInto('notification')
            .values({ ...row, payload })
            .execute();
        return { result: null, scopes: [] };
      });
      const { streams } = other.app;
      const before = streams.size;
      const socket = connect(Number(new URL(other.rest).port), '127.0.0.1');
      try {
        const token = await other.token('hal@example.com');
        const head = ['Host: localhost', `Authorization: Bearer ${token}`, `Last-Event-ID: ${id}`];
        socket.pause().write(`GET ${STREAM} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`);
        await until(() => streams.size === before + 1);
        await (await Rest.as(usher, 'admin@example.com')).put('/api/users/hal@example.com/active', { active: false });
        await until(() => streams.size === before);
        let read = 0;
        socket.on('data', ({ length }) => {
          read += length;
        });
        socket.on('error', () => undefined);
        const closed = new Promise((resolve) => socket.once('close', resolve));
        socket.resume();
        await closed;
        expect(read).toBeLessThan(200 * 60_000);
      } finally {
        socket.destroy();
      }
    });

    test('a notification without a signal reaches the stream within seconds', async () => {
      await send('jan@example.com', 'first');
      const reader = await open('jan@example.com');
      await reader.until(() => reader.counts().at(-1) === 1);
      await usher.app.database.change(async (tx) => {
        const { id: _, ...row } = await tx.kysely
          .selectFrom('notification as n')
          .innerJoin('person as p', 'p.id', 'n.personId')
          .selectAll('n')
          .where('p.email', '=', 'jan@example.com')
          .executeTakeFirstOrThrow();
        const payload = JSON.stringify(row.payload);
        await tx.kysely
          .insertInto('notification')
          .values({ ...row, payload, subject: 'by hand' })
          .execute();
        return { result: null, scopes: [] };
      });
      await reader.until(() => reader.counts().at(-1) === 2);
      expect(reader.subjects()).toEqual(['by hand']);
    });

    test('a closed stream leaves nothing behind', async () => {
      const reader = await open('gil@example.com');
      await reader.until(() => reader.told.length > 0);
      for (const opened of readers) opened.close();
      const { streams } = other.app;
      await until(() => streams.size === 0);
      expect(streams.size).toBe(0);
    });

    test('a stream ends with the service, at once and without a reset', async () => {
      const reader = await open('ida@example.com');
      await reader.until(() => reader.told.length > 0);
      const from = performance.now();
      const closed = other.close();
      await reader.until(() => reader.ended, 2000);
      await closed;
      expect(performance.now() - from).toBeLessThan(5000);
      closedOther = true;
    });
  });
}
