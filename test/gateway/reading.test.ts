/** How much is read of one connection in a turn of the event loop, where its body comes in tiny chunks. Nothing depends on time. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { ConnectionSlots, slotLimits } from '../../src/base/connection-slots.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { Connections } from '../../src/gateway/http/connections.ts';
import { readBytes } from '../../src/gateway/middleware/body.ts';
import type { Exchange } from '../../src/gateway/middleware/exchange.ts';
import { HTTP_LIMITS } from '../../src/gateway/route/limits.ts';
import { FakeClock } from '../engine/fake-clock.ts';

/** What node:net reads at once. */
const READ = 65_536;
const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
const tiny = (count: number): string => '1\r\na\r\n'.repeat(count);

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface Flooded {
  readonly clock: FakeClock;
  /** The service's side of the connection. */
  readonly socket: Socket;
  answers(): number;
  isCut(): boolean;
  /** The most that was read in a turn, of so many, or until it is told. */
  turns(isOver: (turn: number) => boolean): Promise<number>;
}

async function flood(bytes: string, app: (req: IncomingMessage, res: ServerResponse) => void): Promise<Flooded> {
  const clock = new FakeClock();
  const server = createServer();
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => sockets.push(socket));
  const slots = new ConnectionSlots(slotLimits(100), () => undefined);
  const log = createLogger('silent');
  new Connections(server, { clock, log, limits: HTTP_LIMITS, slots, trustProxy: false }).serve(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let [received, cut] = ['', false];
  client
    .on('error', () => undefined)
    .on('close', () => {
      cut = true;
    });
  client.setEncoding('latin1').on('data', (text: string) => {
    received += text;
  });
  client.write(bytes);
  closing.push(() => {
    client.destroy();
    server.close();
    server.closeAllConnections();
  });
  while (sockets.length === 0) await nextTurn();
  const socket = sockets[0] as Socket;
  return {
    clock,
    socket,
    answers: () => received.split('HTTP/1.1 ').length - 1,
    isCut: () => cut,
    turns: async (isOver) => {
      let most = 0;
      for (let turn = 0; !isOver(turn); turn++) {
        const before = socket.bytesRead;
        await nextTurn();
        most = Math.max(most, socket.bytesRead - before);
      }
      return most;
    },
  };
}

function reading(req: IncomingMessage, res: ServerResponse): void {
  const exchange = { req, res, address: '127.0.0.1' } as unknown as Exchange;
  readBytes(exchange, 1024 * 1024, null).then(
    () => res.end('read'),
    () => res.writeHead(400).end('refused'),
  );
}

test('bodies in tiny chunks are read once a turn, and answered', async () => {
  const flooded = await flood(`${HEAD}${tiny(9000)}0\r\n\r\n`.repeat(20), reading);
  const most = await flooded.turns(() => flooded.answers() === 20);
  expect(most).toBeLessThanOrEqual(1.5 * READ);
  expect(flooded.isCut()).toBe(false);
});

test('a body in too many tiny chunks is answered, not read on, and cut', async () => {
  const flooded = await flood(`${HEAD}${tiny(400_000)}`, reading);
  await flooded.turns(() => flooded.answers() === 1);
  await flooded.turns((turn) => turn === 200);
  expect(flooded.socket.bytesRead).toBeLessThanOrEqual(4 * READ);
  expect(flooded.isCut()).toBe(false);
  await flooded.clock.advance(HTTP_LIMITS.refusedMs);
  await flooded.turns(() => flooded.isCut());
});

test('so is one that is refused before it is read', async () => {
  const flooded = await flood(`${HEAD}${tiny(400_000)}`, (_, res) => res.writeHead(401).end('no'));
  await flooded.turns(() => flooded.answers() === 1);
  await flooded.turns((turn) => turn === 200);
  expect(flooded.socket.bytesRead).toBeLessThanOrEqual(2 * READ);
  await flooded.clock.advance(HTTP_LIMITS.refusedMs);
  await flooded.turns(() => flooded.isCut());
});

test('what is left of a refused body of usual chunks is read, and the next request answered', async () => {
  const chunk = `10000\r\n${'a'.repeat(0x10000)}\r\n`;
  const bytes = `${HEAD}${chunk.repeat(20)}0\r\n\r\n`;
  const flooded = await flood(bytes.repeat(2), (_, res) => res.writeHead(401).end('no'));
  await flooded.turns(() => flooded.answers() === 2);
  await flooded.turns(() => flooded.socket.bytesRead === 2 * bytes.length);
  expect(flooded.isCut()).toBe(false);
});
