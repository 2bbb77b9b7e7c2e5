import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { EventReader } from '../support/event-reader.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const STREAM = '/api/admin/stream';
const manifest = (code: string, admin: string) => `
application: { code: ${code}, name: ${code} }
permissions: [{ code: read, type: binary }]
roles: [{ code: reader, permissions: { read: allowed } }]
admins: [${admin}]
`;
const PANEL = `
application: { code: auth, name: Administration }
assignments: [{ email: entry@example.com, roles: [application_manager] }]
`;

interface Changed {
  revision: string;
  scopes: { application?: string; email?: string }[];
  actor: string | null;
}

for (const kind of KINDS) {
  describe(`the stream of changes (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    /** Another instance on the same database; PGlite has one. */
    let other: RunningUsher;
    let root: Rest;
    const readers: EventReader[] = [];

    beforeAll(async () => {
      storage = await createStorage(kind);
      const env = { USHER_ROLES: 'gateway,rpc', SUPERADMINS: 'root@example.com' };
      usher = await startUsher(storage, { env });
      other = kind === 'pglite' ? usher : await startUsher(storage, { env });
      for (const text of [manifest('mine', 'ann@example.com'), manifest('yours', 'ben@example.com'), PANEL]) {
        await usher.app.manifests.apply(text, { actor: 'cli' });
      }
      root = await Rest.as(usher, 'root@example.com');
    }, 120_000);
    afterEach(async () => {
      for (const reader of readers.splice(0)) reader.close();
      while (other.app.changeStreams.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    });
    afterAll(async () => {
      if (other !== usher) await other?.close();
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const open = async (email: string, last?: string): Promise<EventReader> => {
      const headers: Record<string, string> = last === undefined ? {} : { 'last-event-id': last };
      const { size } = other.app.changeStreams;
      const reader = await EventReader.open(other.rest + STREAM, await other.token(email), headers);
      readers.push(reader);
      expect(reader.status).toBe(200);
      await reader.until(() => other.app.changeStreams.size > size || reader.ended);
      return reader;
    };
    const changes = (reader: EventReader): Changed[] => reader.told.map(({ data }) => data as Changed);
    const scopes = (reader: EventReader) => changes(reader).map((change) => change.scopes);
    const give = async (app: string, email: string): Promise<string> => {
      const { status, headers } = await root.post(`/api/users/${email}/apps/${app}/roles`, { role: 'reader' });
      expect(status).toBe(201);
      return headers.get('usher-revision') ?? '';
    };
    /** Makes a revision that everybody is told of, so that what came before has arrived, too. */
    const settle = async (...all: EventReader[]): Promise<void> => {
      await usher.app.database.change(async () => ({ result: null, scopes: ['*'] }));
      for (const reader of all) {
        await reader.until(
          () =>
            changes(reader)
              .at(-1)
              ?.scopes.some((scope) => Object.keys(scope).length === 0) === true,
        );
        reader.told.pop();
      }
    };

    test('administrators are told within a second what changed in their applications, by whom', async () => {
      const [ann, ben, sue] = [
        await open('ann@example.com'),
        await open('ben@example.com'),
        await open('root@example.com'),
      ];
      const begun = performance.now();
      const revision = await give('mine', 'one@example.com');
      await ann.until(() => ann.told.length > 0);
      expect(performance.now() - begun).toBeLessThan(2000);
      const event = {
        revision,
        scopes: [{ application: 'mine', email: 'one@example.com' }],
        actor: 'user:root@example.com',
      };
      expect(ann.told).toEqual([{ event: 'change', id: revision, data: event }]);
      await settle(ann, ben, sue);
      expect(changes(sue)).toEqual([event]);
      expect(ben.told).toEqual([]);
      const role = { code: 'writer', description: null };
      await (await Rest.as(usher, 'ben@example.com')).post('/api/applications/yours/roles', role);
      await settle(ann, ben, sue);
      expect(changes(ben)).toMatchObject([{ scopes: [{ application: 'yours' }], actor: 'user:ben@example.com' }]);
      expect(ann.told).toHaveLength(1);
      expect(sue.told).toHaveLength(2);
    });

    test('a person who changed everywhere is told of to the administrators of their applications', async () => {
      await give('mine', 'two@example.com');
      const [ann, ben, sue] = [
        await open('ann@example.com'),
        await open('ben@example.com'),
        await open('root@example.com'),
      ];
      await root.put('/api/users/two@example.com/active', { active: false });
      await settle(ann, ben, sue);
      expect(changes(ann)).toMatchObject([{ scopes: [{ email: 'two@example.com' }], actor: null }]);
      expect(changes(sue)).toMatchObject([{ scopes: [{ email: 'two@example.com' }], actor: 'user:root@example.com' }]);
      expect(ben.told).toEqual([]);
    });

    test('who gains an application is told of it from then on, and who loses it no longer', async () => {
      const entry = await open('entry@example.com');
      await give('mine', 'three@example.com');
      await settle(entry);
      expect(entry.told).toEqual([]);
      const admins = '/api/users/admins/apps/mine';
      expect((await root.post(admins, { email: 'entry@example.com' })).status).toBe(201);
      await settle(entry);
      expect(scopes(entry)).toEqual([[{ application: 'mine', email: 'entry@example.com' }]]);
      await give('mine', 'four@example.com');
      await settle(entry);
      expect(scopes(entry).at(-1)).toEqual([{ application: 'mine', email: 'four@example.com' }]);
      expect((await root.delete(`${admins}/entry@example.com`)).status).toBe(204);
      await settle(entry);
      expect(changes(entry).at(-1)).toMatchObject({ scopes: [{ email: 'entry@example.com' }], actor: null });
      await give('mine', 'five@example.com');
      await settle(entry);
      expect(entry.told).toHaveLength(3);
      expect(entry.ended).toBe(false);
    });

    test('the deletion of an application is told to those who saw it', async () => {
      await usher.app.manifests.apply(manifest('gone', 'ann@example.com'), { actor: 'cli' });
      const [ann, ben] = [await open('ann@example.com'), await open('ben@example.com')];
      expect((await root.delete('/api/applications/gone')).status).toBe(204);
      await settle(ann, ben);
      expect(scopes(ann)).toEqual([[{ email: 'ann@example.com' }]]);
      expect(ben.told).toEqual([]);
    });

    test('a stream ends with the rights of its reader, and others are refused', async () => {
      const admins = '/api/users/admins/apps/mine';
      for (const [email, take] of [
        ['dora@example.com', () => root.delete(`${admins}/dora@example.com`)],
        ['eva@example.com', () => root.put('/api/users/eva@example.com/active', { active: false })],
      ] as const) {
        expect((await root.post(admins, { email })).status).toBe(201);
        const reader = await open(email);
        await take();
        const begun = performance.now();
        await reader.until(() => reader.ended);
        expect(performance.now() - begun).toBeLessThan(2000);
        expect(reader.told).toEqual([]);
      }
      for (const email of ['dora@example.com', 'eva@example.com', 'plain@example.com']) {
        expect((await (await Rest.as(usher, email)).get(STREAM)).status).toBe(403);
      }
      expect((await (await Rest.as(usher)).get(STREAM)).status).toBe(401);
    });

    test('a stream ends with its token', async () => {
      const reader = { email: 'ann@example.com', expiresAt: Math.floor(Date.now() / 1000) + 2 };
      const told: string[] = [];
      for await (const together of await other.app.changeStreams.open(reader, null)) {
        told.push(...together.map(({ event }) => event));
      }
      expect(told).toEqual(['position']);
      expect(Date.now() / 1000).toBeGreaterThanOrEqual(reader.expiresAt);
    });

    test('a stream resumes after a revision, and says when it cannot', async () => {
      const first = await give('mine', 'six@example.com');
      await give('yours', 'six@example.com');
      const second = await give('mine', 'seven@example.com');
      const resumed = await open('ann@example.com', first);
      await resumed.until(() => resumed.told.length > 0);
      expect(changes(resumed).map(({ revision }) => revision)).toEqual([second]);
      const [number = ''] = second.split('.');
      for (const last of [`${number}.12345`, '999999', number, '1.7']) {
        const reader = await open('ann@example.com', last);
        await reader.until(() => reader.told.length > 0);
        expect(changes(reader)).toEqual([{ revision: second, scopes: [{}], actor: null }]);
      }
      const fresh = await open('ann@example.com', 'no revision');
      const third = await give('mine', 'eight@example.com');
      await fresh.until(() => fresh.told.length > 0);
      expect(changes(fresh).map(({ revision }) => revision)).toEqual([third]);
    });

    test('a user has at most ten streams, the newest', async () => {
      const all: EventReader[] = [];
      for (let n = 0; n < 12; n++) {
        const reader = await EventReader.open(other.rest + STREAM, await other.token('ben@example.com'));
        readers.push(reader);
        all.push(reader);
      }
      await all[1]?.until(() => all[1]?.ended === true);
      await settle(...all.slice(2));
      expect(all.map(({ ended }) => ended)).toEqual(Array.from({ length: 12 }, (_, n) => n < 2));
    });

    if (kind === 'postgresql') {
      test('a restored database is told as "anything may have changed"', async () => {
        const ann = await open('ann@example.com');
        await give('mine', 'nine@example.com');
        await ann.until(() => ann.told.length > 0);
        await usher.app.database.change(async (tx) => {
          await sql`update policy_change set nonce = '4711' where revision = (select max(revision) from policy_change)`.execute(
            tx.kysely,
          );
          return { result: null, scopes: [] };
        });
        await usher.app.database.change(async () => ({ result: null, scopes: ['m:yours:ten@example.com'] }));
        await ann.until(() => ann.told.length > 1);
        expect(changes(ann)[1]).toMatchObject({ scopes: [{}], actor: null });
      });
    }
  });
}
