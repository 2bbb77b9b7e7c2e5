import { pathToFileURL } from 'node:url';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type BuiltPanel, buildPanel, documentationFiles } from '../support/panel-folder.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const KEYS = {
  metrics: 'scraper:metrics:a-key-of-more-than-24-characters',
  check: 'shop:check:another-one-of-24-characters',
};
const secret = (entry: string): string => entry.split(':')[2] ?? '';

let storage: TestStorage;
let usher: RunningUsher;
let built: BuiltPanel;

beforeAll(async () => {
  storage = await createStorage('postgresql');
  built = await buildPanel({ 'index.html': '', ...(await documentationFiles()) });
  usher = await startUsher(storage, {
    parts: { panelFolder: pathToFileURL(`${built.path}/`) },
    env: {
      NODE_ENV: 'production',
      HTTP_HOST: '127.0.0.1',
      OPS_PORT: '0',
      PUBLIC_URL: 'https://usher.example.com',
      AUTH_ISSUER: 'https://idp.example.com',
      AUTH_AUDIENCE: 'usher',
      INTERNAL_API_KEY: Object.values(KEYS).join(','),
    },
  });
}, 60_000);

afterAll(async () => {
  await usher?.close();
  await storage?.remove();
  await built?.remove();
}, 60_000);

const status = async (path: string, key?: string): Promise<number> =>
  (await fetch(path, { headers: key === undefined ? {} : { 'x-internal-api-key': key } })).status;

describe('production', () => {
  test("metrics need a key with scope metrics at the gateway, and none at the operators' port", async () => {
    expect(await status(`${usher.rest}/metrics`)).toBe(401);
    expect(await status(`${usher.rest}/metrics`, 'none-that-is-known-to-anybody')).toBe(401);
    expect(await status(`${usher.rest}/metrics`, secret(KEYS.check))).toBe(403);
    expect(await status(`${usher.rest}/metrics`, secret(KEYS.metrics))).toBe(200);
    expect(await status(`${usher.ops}/metrics`)).toBe(200);
  });

  test('probes, API documentation and the panel need no credentials, and nothing of development exists in production', async () => {
    for (const path of ['/healthz', '/readyz', '/api/openapi.json', '/api/docs', '/panel/']) {
      expect([path, await status(usher.rest + path)]).toEqual([path, 200]);
    }
    const document = (await (await fetch(`${usher.rest}/api/openapi.json`)).json()) as { openapi: string };
    expect(document.openapi).toMatch(/^3\.1\./);
    for (const path of ['/dev/mail', '/dev/sign-in'])
      expect([path, await status(usher.rest + path)]).toEqual([path, 404]);
  });

  test('gRPC health needs no key, and reflection is off in production', async () => {
    const client = new Client(usher.grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    try {
      const healthy = await new Promise((resolve, reject) => {
        const bytes = (buffer: Buffer): Buffer => buffer;
        client.makeUnaryRequest('/grpc.health.v1.Health/Check', bytes, bytes, Buffer.alloc(0), (error, answer) => {
          if (error) reject(error);
          else resolve([...(answer ?? [])]);
        });
      });
      // HealthCheckResponse with the status SERVING.
      expect(healthy).toEqual([0x08, 0x01]);
      const unimplemented = await new Promise((resolve) => {
        const stream = client.makeBidiStreamRequest(
          '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
          (bytes: Buffer) => bytes,
          (bytes: Buffer) => bytes,
        );
        stream.on('error', (error) => resolve((error as { code?: number }).code));
        stream.end();
      });
      expect(unimplemented).toBe(12);
    } finally {
      client.close();
    }
  });
});
