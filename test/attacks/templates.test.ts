import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { databaseEnv } from '../support/postgres.ts';
import { spawnScript, type Writer } from '../support/spawn-writer.ts';

/**
 * Hostile templates previewed many at once: the process lives, every preview is answered, and the event loop, on which checks are
 * answered, is never held (facts, "hostile templates").
 */
const LONG = process.env.USHER_LONG === '1';
const COUNT = LONG ? 300 : 24;
const AT_ONCE = 30;
/**
 * Milliseconds of CPU time that the loop may spend at a stretch, but for one in a hundred: a full garbage collection, or code that is
 * compiled just then. A template that held it would do so for 250. By the clock a shared machine may stop it for longer.
 */
const MAX_HELD = 20;
const LONGEST_HELD = 100;

const twice = (times: number): string =>
  `{% assign s = "aaaaaaaaaa" %}${'{% assign s = s | append: s %}'.repeat(times)}`;

/** A template for each way in which templates have done harm, in a size that grows with `n`. */
const KINDS: readonly ((n: number) => string)[] = [
  (n) => `{% for i in (1..${99_999 - n}) %}{% for j in (1..99999) %}{{ i }}{% endfor %}{% endfor %}`,
  (n) => `{% for i in (1..${2_000_000_000 + n}) %}{% endfor %}`,
  (n) => `${twice(40 + n)}{{ s | size }}`,
  (n) => `${twice(18)}{{ s | replace: "a", s | size | plus: ${n} }}`,
  (n) => `{% capture x %}{% for i in (1..${100_000 + n}) %}aaaaaaaaaa{% endfor %}{% endcapture %}{{ x }}{{ x }}`,
  (n) => `{{ "${'a'.repeat(50_000 + n)}<" | strip_html | size }}${'{{ "<" | strip_html }}'.repeat(20)}`,
  (n) => '{% if true %}'.repeat(2000 + n) + '{% endif %}'.repeat(2000 + n),
  (n) => `${'<div><b>'.repeat(20_000 + n)}`,
  (n) => `{% for i in (1..${40_000 + n}) %}<p>aaaaaaaaaaaaaaaaaaaa</p>{% endfor %}`,
  (n) => `{{ constructor }}{{ __proto__ }}{{ v.constructor.constructor | default: "${n}" }}{{ payload.__proto__.x }}`,
  (n) => `${'{% assign l = list | sort: "n" | reverse | map: "n" | uniq %}'.repeat(500 + n)}{{ l | join }}`,
  (n) => `{{ "${'(a+)+'.repeat(200)}${n}" | split: "" | join: "," | replace_first: "a", "b" | truncatewords: 99999 }}`,
];

interface Measured {
  delay: { max: number; p99: number };
  held: { max: number; p99: number };
}

describe(`${COUNT} hostile templates, ${AT_ONCE} at once`, () => {
  let storage: TestStorage;
  let service: Writer;
  let rest: string;
  let token: string;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    const env = { HTTP_PORT: '0', GRPC_PORT: '0', DATA_DIR: storage.dataDir, ...databaseEnv(storage.url) };
    service = spawnScript('hostile-process.ts', { env });
    ({ rest, token } = await line<{ rest: string; token: string }>(0));
  });
  afterAll(async () => {
    await service?.kill();
    await storage?.remove();
  });

  async function line<T>(index: number): Promise<T> {
    while (service.lines.length <= index) {
      const over = await Promise.race([service.ended.then(() => true), new Promise((done) => setTimeout(done, 20))]);
      if (over === true && service.lines.length <= index) throw new Error('the service has ended');
    }
    return JSON.parse(service.lines[index] ?? '') as T;
  }

  async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; data: { id: number } }> {
    const response = await fetch(rest + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    // A machine that starves its database, or lets a call's ten seconds pass, says nothing about templates.
    if (response.status === 503 && /The database|took too long/.test(text)) return await ask(method, path, body);
    return { status: response.status, data: text === '' ? undefined : JSON.parse(text).data };
  }

  async function heldWhile(work: () => Promise<void>): Promise<Measured> {
    service.child.stdin?.write('measure\n');
    await work();
    const next = service.lines.length;
    service.child.stdin?.write('tell\n');
    return await line<Measured>(next);
  }

  /** What another application's template and send are answered while `work` is under way, one after the other. */
  async function meanwhile(id: number, work: () => Promise<void>): Promise<Map<number, number>> {
    const answers = new Map<number, number>();
    let under = true;
    const asking = (async () => {
      while (under) {
        const preview = await ask('POST', `/api/applications/honest/templates/${id}/preview`, { payload: {} });
        const order = { recipients: ['ann@example.com'], payload: {} };
        const send = await ask('POST', '/api/applications/honest/notifications', order);
        for (const { status } of [preview, send]) answers.set(status, (answers.get(status) ?? 0) + 1);
      }
    })();
    await work().finally(() => {
      under = false;
    });
    await asking;
    return answers;
  }

  /** `work` on each, with bounded concurrency. */
  async function all<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
    const left = items.values();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const item of left) await work(item);
      }),
    );
  }

  test(
    'hostile templates are refused or killed without delaying other requests',
    async () => {
      await ask('POST', '/api/applications', { code: 'hostile', name: 'Hostile' });
      const type = await ask('POST', '/api/applications/hostile/notification-types', { code: 'news', name: 'News' });
      const templates = '/api/applications/hostile/templates';
      await ask('POST', '/api/applications', { code: 'honest', name: 'Honest' });
      const words = { type: 'generic', locale: 'en', subject: 'S {{ user.email }}', html: '<p>{{ app.name }}</p>' };
      const honest = await ask('POST', '/api/applications/honest/templates', words);
      expect(honest.status).toBe(201);
      const payload = { list: Array.from({ length: 1000 }, (_, n) => ({ n: n % 7 })), v: {} };
      const sources = Array.from({ length: COUNT }, (_, n) => (KINDS[n % KINDS.length] as (n: number) => string)(n));

      const stored: number[] = [];
      const statuses = new Map<number, number>();
      let others = new Map<number, number>();
      const measured = await heldWhile(async () => {
        await all([...sources.entries()], async ([n, html]) => {
          const words = { notificationTypeId: type.data.id, key: `t${n}`, locale: 'en', subject: 'S', html };
          const { status, data } = await ask('POST', templates, words);
          expect([201, 400, 503]).toContain(status);
          if (status === 201) stored.push(data.id);
        });
        others = await meanwhile(honest.data.id, () =>
          all(stored, async (id) => {
            const { status } = await ask('POST', `${templates}/${id}/preview`, { payload });
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }),
        );
      });
      const said = { ...measured, statuses: [...statuses], others: [...others] };
      process.stderr.write(`hostile templates: ${JSON.stringify(said)}\n`);

      expect(stored.length).toBeGreaterThan(COUNT / 2);
      // Only a caller that sends this much may be refused for overload.
      expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 422]));
      expect([200, 422, 503]).toEqual(expect.arrayContaining([...statuses.keys()]));
      expect([...others.keys()].toSorted((a, b) => a - b)).toEqual([200, 202]);
      expect(measured.held.p99).toBeLessThanOrEqual(MAX_HELD);
      expect(measured.held.max).toBeLessThanOrEqual(LONGEST_HELD);
      expect((await ask('GET', '/api/applications')).status).toBe(200);
    },
    LONG ? 1_800_000 : 120_000,
  );
});
