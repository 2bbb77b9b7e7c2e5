import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { listenTo } from '../../src/persistence/driver/notify.ts';

const READY = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

const open = new Set<Socket>();
let server: Server | undefined;

afterEach(() => {
  for (const socket of open) socket.destroy();
  server?.close();
});

/** Lets everybody in, and answers nothing that is asked. */
async function silentServer(): Promise<number> {
  const silent = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(READY));
  });
  server = silent;
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

test('a server silent at LISTEN delays nobody, and is tried again', async () => {
  const url = `postgresql://usher@127.0.0.1:${await silentServer()}/usher`;
  let connected = 0;
  const ear = { heard: () => undefined, connected: () => void connected++ };
  const stop = await listenTo('usher_test', { url, clock: systemClock, log: createLogger('silent') }, ear);
  const before = open.size;
  while (open.size === before) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(connected).toBe(0);
  await stop();
});
