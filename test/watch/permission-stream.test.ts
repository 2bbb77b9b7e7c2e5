import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { EventReader } from '../support/event-reader.ts';
import { Rest } from '../support/rest.ts';
import { numberOf } from '../support/revisions.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const STREAM = '/api/profile/me/permissions/stream';
const env = { USHER_ROLES: 'gateway,rpc', SUPERADMINS: 'root@example.com' };
const manifest = (code: string) => `
application: { code: ${code}, name: ${code} }
permissions: [{ code: read, type: binary }]
roles: [{ code: reader, permissions: { read: allowed } }]
`;

for (const kind of KINDS) {
  describe(`the stream of changed permissions (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    /** Another instance on the same database; PGlite has one. */
    let other: RunningUsher;
    let root: Rest;
    const readers: EventReader[] = [];
    const emails = new WeakMap<EventReader, string>();

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage, { env });
      other = kind === 'pglite' ? usher : await startUsher(storage, { env });
      for (const code of ['shop', 'desk', 'hall']) await usher.app.manifests.apply(manifest(code), { actor: 'cli' });
      root = await Rest.as(usher, 'root@example.com');
      for (const email of ['ann@example.com', 'ben@example.com']) {
        await (await Rest.as(usher, email)).get('/api/profile/me');
        await give(email, 'shop');
      }
      await give('ben@example.com', 'desk');
    });
    afterEach(async () => {
      for (const reader of readers.splice(0)) reader.close();
      while (other.app.permissionStreams.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    });
    afterAll(async () => {
      if (other !== usher) await other?.close();
      await usher?.close();
      await storage?.remove();
    });

    const give = async (email: string, app: string): Promise<string> => {
      const { status, headers } = await root.post(`/api/users/${email}/apps/${app}/roles`, { role: 'reader' });
      expect(status).toBe(201);
      return headers.get('usher-revision') ?? '';
    };
    const take = (email: string, app: string) => root.delete(`/api/users/${email}/apps/${app}/roles/reader`);
    const open = async (email: string, last?: string): Promise<EventReader> => {
      const headers: Record<string, string> = last === undefined ? {} : { 'last-event-id': last };
      const reader = await EventReader.open(other.rest + STREAM, await other.token(email), headers);
      readers.push(reader);
      emails.set(reader, email);
      expect(reader.status).toBe(200);
      // Until then a change may be told twice: by what the stream missed, and by what it follows.
      await reader.until(() => reader.begun || reader.ended);
      return reader;
    };
    const apps = (reader: EventReader): string[][] => reader.told.map(({ data }) => data.apps);
    /** Makes a change of another application about each of them, and leaves it out: what came before has arrived, too. */
    const settle = async (...all: EventReader[]): Promise<void> => {
      const scopes = all.map((reader) => `m:settled:${emails.get(reader) ?? ''}` as const);
      const { revision } = await usher.app.database.change(async () => ({ result: null, scopes }));
      for (const reader of all) {
        await reader.until(() => numberOf(reader.told.at(-1)?.id ?? '0') >= numberOf(revision));
        // Changes that follow each other closely may be told together.
        const last = reader.told.at(-1)?.data as { apps: string[] };
        if (last.apps.join() === 'settled') reader.told.pop();
        else last.apps = last.apps.filter((app) => app !== 'settled');
      }
    };

    test('users are told within a second of changes about them and in their applications, and of no others', async () => {
      const [ann, ben] = [await open('ann@example.com'), await open('ben@example.com')];
      await settle(ann, ben);
      const begun = performance.now();
      const revision = await give('ann@example.com', 'hall');
      await ann.until(() => ann.told.length > 0);
      expect(performance.now() - begun).toBeLessThan(1500);
      expect(ann.told).toEqual([{ event: 'permissions', id: revision, data: { revision, apps: ['hall'] } }]);
      await root.post('/api/applications/desk/roles', { code: 'writer', description: null });
      await root.post('/api/applications/hall/roles', { code: 'writer', description: null });
      await root.post('/api/applications/shop/roles', { code: 'writer', description: null });
      await settle(ann, ben);
      expect(apps(ann).slice(1).flat()).toEqual(['hall', 'shop']);
      expect(apps(ben).flat()).toEqual(['desk', 'shop']);
      ann.told.splice(0);
      await take('ann@example.com', 'hall');
      await root.post('/api/applications/hall/roles', { code: 'other', description: null });
      await settle(ann, ben);
      expect(new Set(apps(ann).flat())).toEqual(new Set(['hall']));
    });

    test('a superadmin is told of every application, and of their own appointment', async () => {
      const ann = await open('ann@example.com');
      await settle(ann);
      await root.post('/api/users/admins/super', { email: 'ann@example.com' });
      await ann.until(() => ann.told.length > 0);
      expect(apps(ann)).toEqual([[]]);
      ann.told.splice(0);
      await root.post('/api/applications/hall/roles', { code: 'third', description: null });
      await ann.until(() => ann.told.length > 0);
      expect(apps(ann)).toEqual([['hall']]);
      await root.delete('/api/users/admins/super/ann@example.com');
      await settle(ann);
      ann.told.splice(0);
      await root.post('/api/applications/hall/roles', { code: 'fourth', description: null });
      await settle(ann);
      expect(apps(ann)).toEqual([]);
    });

    test('the members of a deleted application are told of it, also those who resume', async () => {
      await usher.app.manifests.apply(manifest('gone'), { actor: 'cli' });
      const before = await give('ann@example.com', 'gone');
      const [ann, ben] = [await open('ann@example.com'), await open('ben@example.com')];
      await settle(ann, ben);
      expect((await root.delete('/api/applications/gone')).status).toBe(204);
      await ann.until(() => ann.told.length > 0);
      expect(apps(ann)).toEqual([['gone']]);
      await settle(ann, ben);
      expect(apps(ben)).toEqual([]);
      const again = await open('ann@example.com', before);
      await again.until(() => again.told.length > 0);
      expect(apps(again)).toEqual([[]]);
    });

    test('a reader resumes after the last event: only what concerns them is told, and of another history anything', async () => {
      const before = await give('ben@example.com', 'hall');
      await take('ben@example.com', 'hall');
      const [ben, ann] = [await open('ben@example.com', before), await open('ann@example.com', before)];
      await ben.until(() => ben.told.length > 0);
      expect(apps(ben)).toEqual([['hall']]);
      await settle(ben, ann);
      expect(apps(ann)).toEqual([]);
      const strange = await open('ann@example.com', `${Number.parseInt(before, 10)}.99`);
      await strange.until(() => strange.told.length > 0);
      expect(apps(strange)).toEqual([[]]);
    });

    test('a stream ends with its user and with the eleventh; nobody reads without a token or when inactive', async () => {
      const eleven: EventReader[] = [];
      for (let n = 0; n < 10; n++) eleven.push(await open('ben@example.com'));
      const eleventh = await EventReader.open(other.rest + STREAM, await other.token('ben@example.com'));
      // Where the streams of a user stay open, `afterEach` would wait for this one without end.
      readers.push(eleventh);
      eleven.push(eleventh);
      const [oldest, second] = eleven as [EventReader, EventReader];
      await oldest.until(() => oldest.ended);
      expect(second.ended).toBe(false);
      expect((await root.put('/api/users/ben@example.com/active', { active: false })).status).toBe(200);
      for (const reader of eleven) await reader.until(() => reader.ended, 2000);
      const refused = await EventReader.open(other.rest + STREAM, await other.token('ben@example.com'));
      expect(refused.status).toBe(403);
      expect((await fetch(other.rest + STREAM)).status).toBe(401);
      await root.put('/api/users/ben@example.com/active', { active: true });
    });
  });
}
