import { type ClientHttp2Session, connect } from 'node:http2';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const LONG_MS = '60000';

let storage: TestStorage;
let usher: RunningUsher | undefined;
const sessions: ClientHttp2Session[] = [];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

beforeAll(async () => {
  storage = await createStorage('postgresql');
}, 60_000);

afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  await usher?.close();
  usher = undefined;
}, 60_000);

afterAll(async () => {
  await storage?.remove();
}, 60_000);

interface Life {
  /** Milliseconds since the connection; null while that has not happened. */
  toldAt: number | null;
  closedAt: number | null;
}

/** A connection that sends nothing of its own, or with a stream that stays open: a watch of health. */
function connection({ watching }: { watching: boolean }): Life {
  const since = performance.now();
  const session = connect(`http://${usher?.grpc}`);
  sessions.push(session);
  const life: Life = { toldAt: null, closedAt: null };
  session.on('error', () => undefined);
  session.on('goaway', () => {
    life.toldAt ??= performance.now() - since;
  });
  session.on('close', () => {
    life.closedAt ??= performance.now() - since;
  });
  if (watching) {
    const path = '/grpc.health.v1.Health/Watch';
    const head = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
    const stream = session.request(head);
    stream.on('error', () => undefined);
    stream.resume();
    stream.end(Buffer.alloc(5));
  }
  return life;
}

describe.each([
  ['the front', 'true'],
  ['grpc-js', 'false'],
])('connections of gRPC, kept by %s,', (_, front) => {
  const start = async (env: Record<string, string>): Promise<void> => {
    usher = await startUsher(storage, { env: { USHER_ROLES: 'rpc', GRPC_FRONT: front, ...env } });
  };

  test('are told to end at their age, and cut after the grace period', async () => {
    await start({
      GRPC_CONNECTION_AGE_MS: '1500',
      GRPC_CONNECTION_GRACE_MS: '1200',
      GRPC_CONNECTION_IDLE_MS: LONG_MS,
    });
    const [quiet, busy] = [connection({ watching: false }), connection({ watching: true })];
    await pause(1200);
    expect([quiet, busy]).toEqual(Array(2).fill({ toldAt: null, closedAt: null }));
    await pause(3800);
    for (const { toldAt } of [quiet, busy]) {
      expect(toldAt).toBeGreaterThanOrEqual(1300);
      expect(toldAt).toBeLessThan(2700);
    }
    // An open stream keeps its connection for the grace period, and no longer.
    expect((busy.closedAt ?? 0) - (busy.toldAt ?? 0)).toBeGreaterThan(800);
    expect(busy.closedAt).toBeLessThan(4500);
  }, 60_000);

  test('are told to end when they have had no call for long', async () => {
    await start({ GRPC_CONNECTION_AGE_MS: LONG_MS, GRPC_CONNECTION_IDLE_MS: '1000' });
    const [quiet, busy] = [connection({ watching: false }), connection({ watching: true })];
    await pause(3000);
    expect(quiet.toldAt).toBeGreaterThanOrEqual(900);
    expect(quiet.toldAt).toBeLessThan(2500);
    expect(busy).toEqual({ toldAt: null, closedAt: null });
  }, 60_000);

  test('live on for minutes by default', async () => {
    await start({});
    const lives = [connection({ watching: false }), connection({ watching: true })];
    await pause(3000);
    expect(lives).toEqual(Array(2).fill({ toldAt: null, closedAt: null }));
  }, 60_000);
});
