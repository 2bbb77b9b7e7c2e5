import { ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { type Client, credentials, Client as GrpcClient } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { GrpcStatus } from '../../src/base/errors.ts';
import { PermissionService } from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { Watcher } from './watcher.ts';

const KEY = 'watcher-key-of-enough-characters';
const CHECK_KEY = 'checker-key-of-enough-characters';
const env = {
  USHER_ROLES: 'gateway,rpc',
  SUPERADMINS: 'root@example.com',
  INTERNAL_API_KEY: `watcher:watch:${KEY},checker:check:${CHECK_KEY}`,
};
const manifest = (code: string) => `
application: { code: ${code}, name: ${code} }
permissions: [{ code: read, type: binary }]
roles: [{ code: reader, permissions: { read: allowed } }]
`;

async function failureOf(messages: AsyncIterable<unknown>): Promise<ConnectError | null> {
  try {
    for await (const _ of messages) throw new Error('a stream began');
    return null;
  } catch (error) {
    return ConnectError.from(error);
  }
}

for (const kind of KINDS) {
  describe(`Watch (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    /** Another instance on the same database; PGlite has one. */
    let other: RunningUsher;
    let root: Rest;
    let client: Client;
    const watchers: Watcher[] = [];

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage, { env });
      other = kind === 'pglite' ? usher : await startUsher(storage, { env });
      for (const code of ['shop', 'desk']) await usher.app.manifests.apply(manifest(code), { actor: 'cli' });
      root = await Rest.as(usher, 'root@example.com');
      client = new GrpcClient(other.grpc, credentials.createInsecure());
    });
    afterEach(() => {
      for (const { stream } of watchers.splice(0)) stream.cancel();
    });
    afterAll(async () => {
      client?.close();
      if (other !== usher) await other?.close();
      await usher?.close();
      await storage?.remove();
    });

    const watch = (request: ConstructorParameters<typeof Watcher>[1] = {}, key: string = KEY): Watcher => {
      const watcher = new Watcher(client, request, key);
      watchers.push(watcher);
      return watcher;
    };
    const begun = async (request: ConstructorParameters<typeof Watcher>[1] = {}): Promise<Watcher> => {
      const watcher = watch(request);
      await watcher.until(() => watcher.told.length > 0);
      return watcher;
    };
    const give = async (app: string, email: string): Promise<string> => {
      const { status, headers } = await root.post(`/api/users/${email}/apps/${app}/roles`, { role: 'reader' });
      expect(status).toBe(201);
      return headers.get('usher-revision') ?? '';
    };

    test('the first message names the newest revision, and a change at another instance comes within a second', async () => {
      const before = await give('shop', 'first@example.com');
      const watcher = await begun();
      expect(watcher.told).toMatchObject([{ revision: before, changes: [], reset: false }]);
      const after = await give('shop', 'ann@example.com');
      await watcher.until(() => watcher.revision === after, 1000);
      expect(watcher.changes).toEqual([['member', 'shop', 'ann@example.com']]);
    });

    test('each kind of change has its own form', async () => {
      const watcher = await begun();
      await root.post('/api/applications/shop/roles', { code: 'writer', description: null });
      expect((await root.put('/api/users/ann@example.com/active', { active: false })).status).toBe(200);
      await usher.app.database.change(async () => ({ result: null, scopes: ['a:desk', '*'] }));
      await watcher.until(() => watcher.changes.length >= 4);
      expect(watcher.changes).toEqual([
        ['application', 'shop'],
        ['user', 'ann@example.com'],
        ['everythingInApplication', 'desk'],
        ['everything', true],
      ]);
    });

    test('a stream goes on after the last revision of another, and one of named applications is told only those', async () => {
      const since = (await begun()).revision;
      await give('desk', 'ben@example.com');
      const last = await give('shop', 'cat@example.com');
      const [all, desk] = [
        await begun({ sinceRevision: since }),
        await begun({ sinceRevision: since, apps: ['desk'] }),
      ];
      await all.until(() => all.revision === last);
      await desk.until(() => desk.revision === last);
      expect(all.changes).toEqual([
        ['member', 'desk', 'ben@example.com'],
        ['member', 'shop', 'cat@example.com'],
      ]);
      expect(desk.changes).toEqual([['member', 'desk', 'ben@example.com']]);
      const strange = await begun({ sinceRevision: `${Number.parseInt(since, 10)}.99` });
      expect(strange.told).toMatchObject([{ revision: last, changes: [], reset: true }]);
    });

    test('without changes a message comes at least every 2 s', async () => {
      const watcher = await begun();
      for (let n = 2; n < 5; n++) await watcher.until(() => watcher.told.length >= n, 2000);
      expect(watcher.changes).toEqual([]);
      expect(new Set(watcher.told.map(({ revision }) => revision)).size).toBe(1);
    });

    test.each([
      ['a malformed revision', { sinceRevision: 'yesterday' }, KEY, GrpcStatus.INVALID_ARGUMENT, /revision/],
      ['a code that no application can have', { apps: ['shop', 'a b'] }, KEY, GrpcStatus.INVALID_ARGUMENT, /apps\[1\]/],
      ['too many applications', { apps: Array(1001).fill('shop') }, KEY, GrpcStatus.INVALID_ARGUMENT, /apps.*1000/],
      ['an unknown field', Buffer.from([0x7a, 0x01, 0x61]), KEY, GrpcStatus.INVALID_ARGUMENT, /field/],
      ['a wrong key', {}, 'guessed', GrpcStatus.UNAUTHENTICATED, /key/],
      ['a key without the scope', {}, CHECK_KEY, GrpcStatus.PERMISSION_DENIED, /watch/],
    ])('%s is refused', async (_, request, key, code, text) => {
      const watcher = watch(request, key);
      await watcher.until(() => watcher.ended);
      expect(watcher.told).toEqual([]);
      expect(watcher.error).toMatchObject({ code, details: expect.stringMatching(text) });
    });

    test('an instance has at most 1,000 streams, and a place is free again when one ends', async () => {
      await begun();
      const { watch: streams } = other.app;
      const more = Array.from({ length: 1000 - streams.size }, () =>
        streams.open({ kind: 'watch', apps: null, since: null }),
      );
      const refused = watch();
      await refused.until(() => refused.ended);
      expect(refused.error).toMatchObject({ code: GrpcStatus.RESOURCE_EXHAUSTED });
      for (const stream of more) stream.end();
      await begun();
    });

    test('a reader that stops reading is ended with RESOURCE_EXHAUSTED; others are told meanwhile', async () => {
      const [slow, good] = [await begun(), await begun()];
      slow.stream.pause();
      const email = (n: number) => `${'x'.repeat(60)}.${n}@${'y'.repeat(60)}.${'z'.repeat(60)}.example.com`;
      const scopes = (n: number) => Array.from({ length: 200 }, (_, m) => `m:shop:${email(n * 200 + m)}` as const);
      for (let n = 0; n < 30; n++) {
        await usher.app.database.change(async () => ({ result: null, scopes: scopes(n) }));
        await good.until(() => good.changes.length === (n + 1) * 200);
      }
      while (other.app.watch.size > 1) await new Promise((resolve) => setTimeout(resolve, 100));
      slow.stream.resume();
      await slow.until(() => slow.ended);
      expect(slow.error).toMatchObject({ code: GrpcStatus.RESOURCE_EXHAUSTED });
      // Nothing is left out of what it was told until then.
      expect(slow.changes).toEqual(good.changes.slice(0, slow.changes.length));
      expect(good.ended).toBe(false);
    });

    test('a stream is gone when its caller cancels it, hangs up or reaches its deadline', async () => {
      const leaving = await begun();
      const { size } = other.app.watch;
      leaving.stream.cancel();
      const own = new GrpcClient(other.grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
      const hangsUp = new Watcher(own, {}, KEY);
      await hangsUp.until(() => hangsUp.told.length > 0);
      own.close();
      hangsUp.stream.cancel();
      while (other.app.watch.size >= size) await new Promise((resolve) => setTimeout(resolve, 20));
    });

    test('Connect and gRPC-Web stream the same', async () => {
      const withKey = (key: string) => (next: (request: never) => unknown) => (request: { header: Headers }) => {
        request.header.set('x-internal-api-key', key);
        return next(request as never);
      };
      const base = { baseUrl: other.rest, httpVersion: '1.1' as const };
      const transports = (key: string) => {
        const options = { ...base, interceptors: [withKey(key)] as never[] };
        return [
          createConnectTransport({ ...options, useBinaryFormat: false }),
          createConnectTransport({ ...options, useBinaryFormat: true }),
          createGrpcWebTransport({ ...options, useBinaryFormat: false }),
          createGrpcWebTransport({ ...options, useBinaryFormat: true }),
        ];
      };
      for (const [index, transport] of transports(KEY).entries()) {
        const email = `web${index}@example.com`;
        const told: unknown[] = [];
        const leave = new AbortController();
        for await (const message of createClient(PermissionService, transport).watch({}, { signal: leave.signal })) {
          if (told.push(...message.changes.map(({ what }) => what.value)) > 0) break;
          if (message.changes.length === 0) await give('desk', email);
        }
        leave.abort();
        expect(told).toMatchObject([{ app: 'desk', email }]);
      }
      while (other.app.watch.size > 0) await new Promise((resolve) => setTimeout(resolve, 20));
      for (const transport of transports(CHECK_KEY)) {
        const { watch: refused } = createClient(PermissionService, transport);
        const error = await failureOf(refused({}));
        expect(error).toMatchObject({ code: GrpcStatus.PERMISSION_DENIED });
      }
      for (const transport of transports(KEY)) {
        const { watch: refused } = createClient(PermissionService, transport);
        const error = await failureOf(refused({ apps: ['a b'] }));
        expect(error).toMatchObject({ code: GrpcStatus.INVALID_ARGUMENT, message: expect.stringContaining('apps[0]') });
      }
    });
  });
}

test('streams end with UNAVAILABLE when the service closes, and hold it up no longer', async () => {
  const storage = await createStorage('pglite');
  const usher = await startUsher(storage, { env });
  const client = new GrpcClient(usher.grpc, credentials.createInsecure());
  const watcher = new Watcher(client, {}, KEY);
  await watcher.until(() => watcher.told.length > 0);
  const begun = performance.now();
  await usher.close();
  expect(performance.now() - begun).toBeLessThan(8000);
  expect(watcher.error).toMatchObject({ code: GrpcStatus.UNAVAILABLE });
  client.close();
  await storage.remove();
});
