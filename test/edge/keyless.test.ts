import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { call } from '../grpc/support.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { edgeConfig, type RunningEdge, startEdge } from '../support/edge.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const KEY = 'the-key-of-an-edge';
const QUESTION = { email: 'ann@example.com', app: 'shop', permission: 'read' };
const listeners = (...addresses: string[]) => JSON.stringify([{ for: 'grpc', addresses }]);

describe('an edge that has a key of its upstream and asks for none', () => {
  test.each([
    ['a port', {}],
    ['a port beside a socket', { USHER_LISTENERS: listeners('unix:/run/usher/edge.sock', '127.0.0.1:50053') }],
  ])('is refused where it listens on %s: every process of the machine could ask with that key', (_, env) => {
    expect(() => edgeConfig('127.0.0.1:1', { UPSTREAM_KEY: KEY, ...env })).toThrow(
      'INTERNAL_API_KEY): is required with upstream.key',
    );
  });

  test.each([
    ['keys of its own', { INTERNAL_API_KEY: 'the-key-of-a-caller' }],
    ['sockets alone', { GRPC_FRONT: 'true', USHER_LISTENERS: listeners('unix:/run/usher/edge.sock') }],
  ])('is taken with %s', (_, env) => {
    expect(edgeConfig('127.0.0.1:1', { UPSTREAM_KEY: KEY, ...env }).upstream.key).toBe(KEY);
  });

  test('an upstream that asks for none needs none at the edge', () => {
    expect(edgeConfig('127.0.0.1:1').internal.apiKeys).toEqual([]);
  });
});

describe('an edge on a socket', () => {
  const folder = mkdtempSync(join(tmpdir(), 'usher-socket-'));
  const path = join(folder, 'edge.sock');
  let storage: TestStorage;
  let usher: RunningUsher;
  let edge: RunningEdge;

  beforeAll(async () => {
    storage = await createStorage('pglite');
    usher = await startUsher(storage, { env: { INTERNAL_API_KEY: `edge:facts:${KEY}`, USHER_ROLES: 'rpc' } });
    const env = { UPSTREAM_KEY: KEY, GRPC_FRONT: 'true', USHER_LISTENERS: listeners(`unix:${path}`) };
    edge = await startEdge(usher.grpc, { env });
  }, 60_000);

  afterAll(async () => {
    await edge?.close();
    await usher?.close();
    await storage?.remove();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  test('opens no port, and answers at the socket without a key', async () => {
    expect(edge.grpc).toBe(`unix:${path}`);
    const client = new Client(`unix:${path}`, credentials.createInsecure());
    expect((await call(client, 'Check', QUESTION)).message.allowed).toBe(false);
    client.close();
  });
});
