import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ErrorBody } from '../../src/gen/api.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { databaseEnv } from '../support/postgres.ts';
import { spawnScript, type Writer } from '../support/spawn-writer.ts';

/**
 * Sends whose words are a thousand times as large as what asks for them, to a service with a small heap: each is refused, the
 * process lives in bounded memory, and what others send meanwhile is stored.
 */
const HEAP_MB = 384;
/** The heap, and what a process has beside it: code, buffers, the garbage of pipes. It was gigabytes without a bound. */
const MAX_RSS_MB = 2 * HEAP_MB;
const RECIPIENTS = Array.from({ length: 1000 }, (_, at) => `reader${at}@example.com`);
const MEGABYTE =
  '{% for i in (1..10000) %}0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789{% endfor %}';
/** A filter, so that it is rendered for each reader. */
const EACH = '{{ user.email | upcase }}';

const TEMPLATES = {
  'a megabyte a part for each reader': {
    html: EACH + MEGABYTE,
    text: EACH + MEGABYTE,
    pushBody: MEGABYTE,
    url: MEGABYTE,
  },
  'a megabyte for all readers together': { html: MEGABYTE, text: 'T' },
  'rules that become forty times as long as text': { html: `${EACH}{% for i in (1..9000) %}<hr>{% endfor %}` },
  'what JSON writes with two bytes for each': {
    html: `${EACH}{% for i in (1..9000) %}""""""""""""""""{% endfor %}`,
    text: 'T',
  },
} as const;

describe('sends that grow', () => {
  let storage: TestStorage;
  let service: Writer;
  let rest: string;
  let token: string;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    const env = {
      HTTP_PORT: '0',
      GRPC_PORT: '0',
      DATA_DIR: storage.dataDir,
      ...databaseEnv(storage.url),
      USHER_ROLES: 'gateway,rpc',
    };
    service = spawnScript('hostile-process.ts', { env }, [`--max-old-space-size=${HEAP_MB}`]);
    ({ rest, token } = await line<{ rest: string; token: string }>(0));
    await ask('POST', '/api/applications', { code: 'hostile', name: 'Hostile' });
    await ask('POST', '/api/applications', { code: 'honest', name: 'Honest' });
    const base = { type: 'generic', locale: 'en', subject: 'S' };
    for (const [at, parts] of Object.values(TEMPLATES).entries()) {
      const made = await ask('POST', '/api/applications/hostile/templates', { ...base, key: `t${at}`, ...parts });
      expect(made.status).toBe(201);
    }
    await ask('POST', '/api/applications/honest/templates', { ...base, html: `<p>Dear ${EACH}</p>` });
  }, 60_000);
  afterAll(async () => {
    await service?.kill();
    await storage?.remove();
  });

  async function line<T>(index: number): Promise<T> {
    while (service.lines.length <= index) {
      const over = await Promise.race([service.ended.then(() => true), new Promise((done) => setTimeout(done, 20))]);
      if (over === true && service.lines.length <= index) throw new Error(`it has ended: ${service.complaints()}`);
    }
    return JSON.parse(service.lines[index] ?? '') as T;
  }

  async function ask(method: string, path: string, body: unknown, signal?: AbortSignal) {
    const response = await fetch(rest + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
    return { status: response.status, body: (await response.json()) as Partial<ErrorBody> };
  }

  const grow = (key: number, signal?: AbortSignal) =>
    ask('POST', '/api/applications/hostile/notifications', { recipients: RECIPIENTS, templateKey: `t${key}` }, signal);
  const honest = () => ask('POST', '/api/applications/honest/notifications', { recipients: ['ann@example.com'] });

  async function rss(): Promise<number> {
    const next = service.lines.length;
    service.child.stdin?.write('tell\n');
    return (await line<{ rss: number }>(next)).rss;
  }

  test.each(Object.keys(TEMPLATES).map((name, at) => [name, at] as const))(
    'a send that is too large sends nothing: %s',
    async (_, at) => {
      const { status, body } = await grow(at);
      expect([status, body.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
      expect((await honest()).status).toBe(202);
      expect(await rss()).toBeLessThan(MAX_RSS_MB);
    },
    60_000,
  );

  test('three large sends at once do not end the process, and a small one beside them is stored', async () => {
    const growing = [0, 0, 0].map((at) => grow(at));
    let over = false;
    const all = Promise.all(growing).finally(() => {
      over = true;
    });
    const answers: number[] = [];
    while (!over) answers.push((await honest()).status);
    for (const { status, body } of await all) {
      expect([status, body.code]).toEqual(status === 503 ? [503, 'UNAVAILABLE'] : [413, 'PAYLOAD_TOO_LARGE']);
    }
    expect(new Set(answers)).toEqual(new Set([202]));
    expect(await rss()).toBeLessThan(MAX_RSS_MB);
  }, 60_000);

  test('a send whose caller has left is cancelled, and its capacity is freed', async () => {
    const gone = new AbortController();
    const growing = Array.from({ length: 8 }, () => grow(2, gone.signal).catch(() => null));
    await new Promise((done) => setTimeout(done, 300));
    gone.abort();
    await Promise.all(growing);
    expect((await honest()).status).toBe(202);
    expect(await rss()).toBeLessThan(MAX_RSS_MB);
  }, 60_000);
});
