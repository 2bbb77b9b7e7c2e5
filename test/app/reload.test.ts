import { create, toBinary } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { Client, type ClientReadableStream, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from '@jest/globals';
import { FactsService, FollowRequestSchema } from '../../src/gen/usher/facts/v1/facts_pb.ts';
import { PermissionService } from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { RULES_VERSION } from '../../src/rpc/facts-messages.ts';
import { outcome, useReloading, withKeys } from '../support/reloading.ts';
import { Watcher } from '../watch/watcher.ts';

const STAYS = 'the-key-of-a-backend-that-stays';
const GOES = 'the-key-of-a-backend-that-goes';
const NEW = 'the-key-of-a-backend-that-is-new';
const stays = `stays:check+watch:${STAYS}`;
const goes = `goes:facts:${GOES}`;

const service = useReloading(() => withKeys());
const clients: Client[] = [];

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

function open(): Client {
  const client = new Client(service().grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  clients.push(client);
  return client;
}

function follow(client: Client, key: string): ClientReadableStream<Buffer> {
  const metadata = new Metadata();
  metadata.set('x-internal-api-key', key);
  const same = (message: Buffer): Buffer => message;
  const request = create(FollowRequestSchema, { rulesVersion: RULES_VERSION, since: 0n });
  const bytes = Buffer.from(toBinary(FollowRequestSchema, request));
  return client.makeServerStreamRequest(`/${FactsService.typeName}/Follow`, same, same, bytes, metadata);
}

/** The code with which a stream ends. */
function ending(stream: ClientReadableStream<unknown>): Promise<number> {
  return new Promise((resolve) => {
    stream.on('data', () => undefined);
    stream.on('error', (error: ServiceError) => resolve(error.code));
    stream.on('end', () => resolve(status.OK));
  });
}

async function connectEnding(key: string): Promise<string> {
  const transport = createConnectTransport({ baseUrl: service().url, httpVersion: '1.1' });
  const watch = createClient(PermissionService, transport).watch({}, { headers: { 'x-internal-api-key': key } });
  try {
    for await (const { revision } of watch) if (revision === '') return 'told nothing';
    return 'ended';
  } catch (error) {
    return String((error as { rawMessage?: string }).rawMessage);
  }
}

async function askRest(key: string): Promise<number> {
  const { status: code } = await fetch(`${service().url}/api/check`, {
    method: 'POST',
    headers: { 'x-internal-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'clara@example.com', app: 'atelier', permission: 'project.access' }),
  });
  return code;
}

const within = async <T>(ms: number, work: Promise<T>): Promise<T | string> =>
  await Promise.race([work, new Promise<string>((resolve) => setTimeout(() => resolve(`not in ${ms} ms`), ms))]);

describe('keys', () => {
  test('a removed key is refused at once, on connections and streams that it opened too', async () => {
    await service().take(withKeys(stays, goes));
    const [staying, going] = [open(), open()];
    // Twice: the second call finds its headers and its question by their bytes.
    for (let n = 0; n < 2; n++) {
      expect([await outcome(staying, STAYS), await outcome(going, GOES)]).toEqual(['answered', 'answered']);
    }
    const [watcher, ended] = [new Watcher(staying, {}, STAYS), new Watcher(going, {}, GOES)];
    for (const one of [watcher, ended]) await one.until(() => one.told.length > 0);
    const facts = ending(follow(going, GOES));
    const connect = connectEnding(GOES);
    expect(await askRest(GOES)).toBe(200);

    service().write(withKeys(stays, `new:check:${NEW}`));
    expect(await service().reload()).toMatchObject({
      msg: 'configuration reloaded',
      changed: ['internal.apiKeys'],
      keys: { added: ['new'], removed: ['goes'], changed: [] },
      certificates: [],
      restart: [],
    });
    expect(JSON.stringify(service().log)).not.toMatch(/the-key-of/);
    expect(await outcome(going, GOES)).toBe('UNAUTHENTICATED');
    expect(await outcome(going, GOES, 'Explain')).toBe('UNAUTHENTICATED');
    expect(await askRest(GOES)).toBe(401);
    // The connection itself is nobody's: another key is welcome on it.
    expect(await outcome(going, NEW)).toBe('answered');
    expect(await within(2000, facts)).toBe(status.UNAUTHENTICATED);
    expect(await within(2000, connect)).toMatch(/no longer accepted/);
    if (!ended.ended) await ended.until(() => ended.ended, 2000);
    expect(ended.error?.code).toBe(status.UNAUTHENTICATED);
    expect([watcher.ended, await outcome(staying, STAYS)]).toEqual([false, 'answered']);
  }, 60_000);

  test('a scope that is taken ends what it had opened, and nothing else; a new name disturbs nobody', async () => {
    await service().take(withKeys(stays, `goes:check+watch:${GOES}`));
    const client = open();
    const [watcher, losing] = [new Watcher(client, {}, STAYS), new Watcher(client, {}, GOES)];
    for (const one of [watcher, losing]) await one.until(() => one.told.length > 0);
    service().write(withKeys(`renamed:check+watch:${STAYS}`, `goes:check:${GOES}`));
    expect(await service().reload()).toMatchObject({
      keys: { added: [], removed: ['stays'], changed: ['renamed', 'goes'] },
    });
    if (!losing.ended) await losing.until(() => losing.ended, 2000);
    expect(losing.error?.code).toBe(status.UNAUTHENTICATED);
    const both = [await outcome(client, GOES), await outcome(client, STAYS)];
    expect([...both, watcher.ended]).toEqual(['answered', 'answered', false]);
  }, 60_000);

  test('a first key closes what was open without one, and without the last one it is open again', async () => {
    await service().take(withKeys());
    const client = open();
    const both = async () => [await outcome(client), await outcome(client, STAYS)];
    expect(await both()).toEqual(['answered', 'UNAUTHENTICATED']);
    await service().take(withKeys(stays));
    expect(await both()).toEqual(['UNAUTHENTICATED', 'answered']);
    await service().take(withKeys());
    expect(await both()).toEqual(['answered', 'UNAUTHENTICATED']);
  }, 60_000);
});

describe('a reload that fails', () => {
  test.each<[string, object, RegExp]>([
    ['a key that is too odd', withKeys('a b', 'x:nothing:y'), /internal\.apiKeys.*entry 1/],
    ['an unknown key of the file', { ...withKeys(stays), grpcc: {} }, /grpcc.*not a known key/],
    ['a rule between keys', { ...withKeys(), http: { host: '0.0.0.0' } }, /internal\.apiKeys.*is required/],
    [
      'a certificate that is not there',
      { ...withKeys(stays), http: { tls: { cert: '/nowhere', key: '/nowhere' } } },
      /http\.tls\.cert.*cannot be read/,
    ],
  ])(
    'by %s keeps everything, and says key and rule',
    async (_, next, words) => {
      await service().take(withKeys(stays, goes));
      const failed = 'usher_config_reloads_total{result="failed"}';
      const before = await service().metric(failed);
      const client = open();
      service().write(next);
      const line = await service().reload();
      expect(line.msg).toBe('configuration not reloaded; everything stays as it was');
      expect(JSON.stringify(line.faults)).toMatch(words);
      expect([await outcome(client, STAYS), await outcome(client, GOES)]).toEqual(['answered', 'answered']);
      service().file('usher.yaml', 'internal: {apiKeys: [');
      expect((await service().reload()).reason).toMatch(/usher\.yaml:1:\d+ is not YAML/);
      expect((await service().metric(failed)) - before).toBe(2);
    },
    60_000,
  );
});

test('origins and the level of the log count at once; other keys wait for a restart, and are named', async () => {
  await service().take({ ...withKeys(), cors: { origins: ['https://a.example.com'] } });
  const allowed = async (origin: string) => {
    const { headers } = await fetch(`${service().url}/api/openapi.json`, { headers: { origin } });
    return headers.get('access-control-allow-origin');
  };
  const both = async () => [await allowed('https://a.example.com'), await allowed('https://b.example.com')];
  expect(await both()).toEqual(['https://a.example.com', null]);
  // What was taken is in force: nothing is different from it.
  expect(await service().reload()).toMatchObject({ changed: [], restart: [] });
  const next = { ...withKeys(), log: { level: 'warn' }, cors: { origins: ['https://b.example.com'] } };
  service().write({ ...next, cache: { ttlMs: 1234 }, auth: { bindSubject: true } });
  expect(await service().reload()).toMatchObject({
    msg: 'configuration reloaded; restart to take the keys in restart',
    changed: ['cors.origins', 'log.level'],
    restart: ['auth.bindSubject', 'cache.ttlMs'],
  });
  expect(await both()).toEqual([null, 'https://b.example.com']);
  const requests = () => service().log.filter(({ msg }) => msg === 'request').length;
  const quiet = requests();
  expect(quiet).toBeGreaterThanOrEqual(2);
  await allowed('https://b.example.com');
  await service().take({ ...withKeys(), log: { level: 'info' } });
  expect(requests()).toBe(quiet);
  const loadedAt = await service().metric('usher_config_loaded_timestamp_seconds');
  expect(Math.abs(loadedAt - Date.now() / 1000)).toBeLessThan(60);
}, 60_000);
