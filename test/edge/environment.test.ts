import { afterEach, expect, test } from '@jest/globals';
import { createStorage } from '../support/databases.ts';
import { startEdge } from '../support/edge.ts';
import { endings, startCanary } from '../support/outbound.ts';
import { startUsher } from '../support/usher.ts';

const VARIABLES = ['grpc_proxy', 'https_proxy', 'http_proxy', 'HTTPS_PROXY', 'HTTP_PROXY'];
const before = VARIABLES.map((name) => process.env[name]);
afterEach(() => {
  VARIABLES.forEach((name, at) => {
    const value = before[at];
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  });
});

test('an edge asks its upstream itself, whatever proxy the environment names', async () => {
  const canary = await startCanary();
  const storage = await createStorage('pglite');
  endings.push(() => storage.remove());
  const usher = await startUsher(storage, { env: { INTERNAL_API_KEY: 'edge:facts:the-key-of-an-edge' } });
  endings.push(() => usher.close());
  for (const name of VARIABLES) process.env[name] = `http://127.0.0.1:${canary.port}`;
  const edge = await startEdge(usher.grpc, {
    env: { UPSTREAM_KEY: 'the-key-of-an-edge', INTERNAL_API_KEY: 'caller:check:the-key-of-a-caller', OPS_PORT: '0' },
  });
  endings.push(() => edge.close());
  const ready = () => fetch(`${edge.ops}/readyz`).then(({ status }) => status);
  const until = Date.now() + 30_000;
  while ((await ready()) !== 200 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50));
  expect([await ready(), canary.connections()]).toEqual([200, 0]);
}, 60_000);
