import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** The questions of the OpenAPI document, asked of the demonstration as the page of the documentation does at “Try it out”. */

const KEY = 'the-internal-key-of-everything';
const DEMO = new URL('../../examples/demo.yaml', import.meta.url);

let storage: TestStorage;
let usher: RunningUsher;

beforeAll(async () => {
  storage = await createStorage('postgresql');
  const env = { INTERNAL_API_KEY: `all:check:${KEY}`, SUPERADMINS: 'admin@example.com' };
  usher = await startUsher(storage, { env });
  await usher.app.manifests.apply(readFileSync(DEMO, 'utf8'), { actor: 'cli' });
});
afterAll(async () => {
  await usher?.close();
});

const questions = gatewayRoutes({ production: false }).filter(
  ({ tag, method, path, example }) =>
    method === 'post' &&
    example.body !== undefined &&
    (tag === 'Checks' || tag === 'AuthZEN' || /:appCode\/(explain|effective|subjects|resources)$/.test(path)),
);

/** Each database has revisions of its own. */
const timeless = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (name, one: unknown) => (name === 'revision' ? 'any' : one));

/** An example of all that somebody holds shows some of it. */
function shownOf(path: string, example: unknown): unknown {
  if (!path.endsWith('/effective')) return example;
  if (Array.isArray(example)) return expect.arrayContaining(example);
  const { data, ...rest } = example as { data: unknown[] };
  return { ...rest, data: expect.arrayContaining(data) };
}

test.each(questions.map((route) => [route.path, route] as const))(
  'the example of %s is what the demonstration answers',
  async (path, { guard, example, envelope }) => {
    const person = path.startsWith('/api/profile/me/') ? 'ben@example.com' : 'admin@example.com';
    const credentials: Record<string, string> =
      guard.key === undefined
        ? { authorization: `Bearer ${await usher.token(person)}` }
        : { 'x-internal-api-key': KEY };
    const response = await fetch(usher.rest + path.replace(':appCode', 'atelier'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...credentials },
      body: JSON.stringify(example.body),
    });
    if (envelope.kind !== 'value') throw new Error(`${path} has no answer of JSON`);
    const shown = timeless(JSON.parse(String(envelope.encode(example.response, 'application/json'))));
    expect([response.status, timeless(await response.json())]).toEqual([200, shownOf(path, shown)]);
  },
);

test('every question is asked', () => expect(questions.length).toBeGreaterThanOrEqual(19));
