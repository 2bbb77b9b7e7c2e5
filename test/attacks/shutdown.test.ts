import http2 from 'node:http2';
import net from 'node:net';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from '@jest/globals';
import { type RunningService, startService, usherProcess } from '../cli/harness.ts';

/** SIGTERM ends a service within this time, whatever its connections do: a little over what a call may take. */
const BOUND_MS = 16_000;
/** Each kind of connection by itself is for the long run; test/gateway and test/grpc have them all over one listener. */
const LONG = process.env.USHER_LONG !== undefined;
const CHECK = '/usher.permission.v1.PermissionService/Check';

let service: RunningService;
let log = '';
const opened: { destroy(): void }[] = [];

async function start({ npm = false } = {}): Promise<void> {
  log = '';
  service = await startService({ OPS_PORT: '0' }, { onOutput: (text) => (log += text), npm });
}
afterEach(async () => {
  for (const connection of opened.splice(0)) connection.destroy();
  await service?.remove();
});

/** A connection that sends these bytes and stays. Resolves once the service has accepted it, or has answered something. */
async function hold(port: number, bytes: string | Buffer, { reads = true, answered = false } = {}): Promise<void> {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  opened.push(socket);
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write(bytes);
  if (answered) await new Promise((resolve) => socket.once('data', resolve));
  if (reads) socket.resume();
  else socket.pause();
}

const portOf = (address: string): number =>
  Number(new URL(address.includes('//') ? address : `http://${address}`).port);
const rest = (): number => portOf(service.url);
const post = (path: string, body: string, announced: number): string =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${announced}\r\n\r\n${body}`;

async function openStream(reads: boolean): Promise<void> {
  const token = (await usherProcess(['token', 'clara@example.com'], service.env)).stdout.trim();
  const head = `GET /api/profile/me/notifications/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  await hold(rest(), head, { reads, answered: true });
}

/** What clients do that are there when the signal comes. */
const HELD: Record<string, () => Promise<void>> = {
  'that say nothing': () => hold(rest(), ''),
  'idle ones': () => hold(rest(), 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n', { answered: true }),
  'half headers': () => hold(rest(), 'POST /api/check HTTP/1.1\r\nHost: loc'),
  'half headers at the operators’ port': async () => {
    const { ops } = JSON.parse(log.split('\n').find((line) => line.endsWith('"msg":"ready"}')) ?? '') as {
      ops: string;
    };
    await hold(portOf(ops), 'GET /metrics HTTP/1.1\r\nHost: loc');
  },
  'half bodies': () => hold(rest(), post('/api/check', '{"email"', 500)),
  'half messages of Connect': () => hold(rest(), post(CHECK, '{"email"', 500)),
  'refused bodies': () => hold(rest(), post('/api/nothing', '{', 500), { answered: true }),
  'refused messages of Connect': () =>
    hold(rest(), post(CHECK, ' '.repeat(1_048_577 + 100), 3_000_000), { answered: true }),
  'readers that do not read': () =>
    hold(rest(), 'GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(40), { reads: false }),
  'streams of the inbox': () => openStream(true),
  'streams of the inbox that nobody reads': () => openStream(false),
  'half prefaces at the gRPC port': () => hold(portOf(service.grpc), 'PRI * HTTP'),
  'idle sessions of gRPC': async () => {
    const session = http2.connect(`http://${service.grpc}`).on('error', () => undefined);
    opened.push(session);
    await new Promise((resolve) => session.once('remoteSettings', resolve));
  },
  'watches of health': async () => {
    const client = new Client(service.grpc, credentials.createInsecure());
    const watch = client.makeServerStreamRequest(
      '/grpc.health.v1.Health/Watch',
      (message: Buffer) => message,
      (bytes) => bytes,
      Buffer.alloc(0),
      new Metadata(),
    );
    watch.on('error', () => undefined);
    opened.push({ destroy: () => client.close() });
    await new Promise((resolve) => watch.once('data', resolve));
  },
  'calls of gRPC that never send their message': async () => {
    const session = http2.connect(`http://${service.grpc}`).on('error', () => undefined);
    opened.push(session);
    const stream = session.request({
      ':method': 'POST',
      ':path': CHECK,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', () => undefined);
    stream.write(Buffer.from([0, 0, 0, 0, 9, 1]));
    await new Promise((resolve) => session.ping(() => resolve(null)));
  },
};

async function stopsInTime(): Promise<void> {
  const begun = performance.now();
  expect(await service.stop()).toBe(0);
  expect(log).toContain('"msg":"closed"');
  expect(performance.now() - begun).toBeLessThan(BOUND_MS);
}

describe('the shutdown of a service', () => {
  test('an idle service exits with 0 in bounded time', async () => {
    await start();
    await stopsInTime();
  });

  // npm hands a signal to the shell of its script, which passes nothing on: the script must be the service itself.
  test('a service started by `npm start` exits with 0 when npm gets the signal', async () => {
    await start({ npm: true });
    await stopsInTime();
  });

  test.each(['connections of every kind', ...(LONG ? Object.keys(HELD) : [])])(
    'a service with %s exits with 0 in bounded time',
    async (name) => {
      await start();
      const kinds = HELD[name] === undefined ? Object.values(HELD) : [HELD[name]];
      for (const open of kinds) for (let n = 0; n < 2; n++) await open();
      await stopsInTime();
    },
  );

  test('a service whose clients leave during the shutdown exits with 0', async () => {
    await start();
    for (const open of Object.values(HELD)) await open();
    const ended = stopsInTime();
    for (const connection of opened.splice(0)) connection.destroy();
    await ended;
  });
});
