/**
 * A hostile client in a process of its own, so that it takes no time of the good one beside it:
 * `node attacker-process.ts ATTACK REST_PORT GRPC_PORT MILLISECONDS KEY CONNECTIONS`. Prints how much it did as JSON.
 */
import http2 from 'node:http2';
import net from 'node:net';
import { constants, setPriority } from 'node:os';
import { PREFACE, settings } from '../wire/frames.ts';
import { doorAttacks } from './door-attacks.ts';
import { type Tools, wireAttacks } from './wire-attacks.ts';

// What an attack costs the service is looked at, not what the attacker takes of the processor that the good client shares with it.
setPriority(constants.priority.PRIORITY_LOW);
const [attack = '', rest = '', grpc = '', ms = '', key = '', connections = '0'] = process.argv.slice(2);
const REST = Number(rest);
const GRPC = Number(grpc);
const end = performance.now() + Number(ms);
const isOver = (): boolean => performance.now() >= end;
const pause = (time: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, time));
let done = 0;
const HELLO = Buffer.concat([PREFACE, settings()]);

function open(port: number, onOpen: (socket: net.Socket) => void = () => undefined): net.Socket {
  const socket = net.connect(port, '127.0.0.1', () => onOpen(socket));
  return socket.on('error', () => undefined).resume();
}

/** Connections that are made anew when they are cut, each written to as fast as it takes it. */
async function flood(
  port: number,
  connections: number,
  first: Buffer,
  next: () => Buffer,
  reads = true,
): Promise<void> {
  const lane = async (): Promise<void> => {
    while (!isOver()) {
      const socket = open(port, (opened) => opened.write(first));
      if (!reads) socket.pause();
      while (!socket.destroyed && !isOver()) {
        done++;
        if (socket.connecting || socket.write(next())) await pause(socket.connecting ? 1 : 0);
        else
          await Promise.race([
            new Promise((resolve) => socket.once('drain', resolve).once('close', resolve)),
            pause(100),
          ]);
      }
      socket.destroy();
      // A cut client comes again, but has to connect.
      await pause(5);
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
}

/** Connections that send a little now and then. */
async function trickle(
  port: number,
  connections: number,
  first: string | Buffer,
  piece: () => string | Buffer,
): Promise<void> {
  const sockets = new Set<net.Socket>();
  while (!isOver()) {
    for (const socket of sockets) if (socket.destroyed) sockets.delete(socket);
    while (sockets.size < connections) {
      sockets.add(open(port, (socket) => socket.write(first)));
      done++;
    }
    for (const socket of sockets) if (!socket.connecting) socket.write(piece());
    await pause(200);
  }
  for (const socket of sockets) socket.destroy();
}

/** Connections that are made and left. */
async function come(port: number, atOnce: number, first: string | Buffer): Promise<void> {
  const lane = async (): Promise<void> => {
    while (!isOver()) {
      const socket = open(port, (opened) => opened.end(first));
      done++;
      await Promise.race([new Promise((resolve) => socket.once('close', resolve)), pause(50)]);
      socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

/** Requests with another wrong credential each. */
async function guess(path: string, credential: () => Record<string, string>, body: string): Promise<void> {
  const lane = async (): Promise<void> => {
    while (!isOver()) {
      await fetch(`http://127.0.0.1:${REST}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...credential() },
        body,
      })
        .then((answer) => answer.text())
        .catch(() => undefined);
      done++;
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}

async function guessGrpc(): Promise<void> {
  const session = http2.connect(`http://127.0.0.1:${GRPC}`).on('error', () => undefined);
  while (!isOver() && !session.destroyed) {
    const calls = Array.from({ length: 50 }, () => {
      done++;
      const stream = session.request({
        ':method': 'POST',
        ':path': '/usher.permission.v1.PermissionService/Check',
        'content-type': 'application/grpc',
        te: 'trailers',
        'x-internal-api-key': `guess-${Math.random()}`,
      });
      stream.on('error', () => undefined).end(Buffer.alloc(5));
      stream.resume();
      return new Promise((resolve) => stream.once('close', resolve));
    });
    await Promise.race([Promise.all(calls), pause(1000)]);
  }
  session.destroy();
}

const QUESTION = JSON.stringify({ email: 'ann@example.com', app: 'shop', permission: 'read' });
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const attacksOn = (tools: Tools) => ({ ...wireAttacks(tools), ...doorAttacks(tools) });

const ATTACKS: Record<string, () => Promise<void>> = {
  'nothing, for comparison': () => pause(end - performance.now()),
  'headers that never end': () => trickle(REST, 400, 'POST /api/check HTTP/1.1\r\nHost: x\r\n', () => 'X-a: b\r\n'),
  'bodies that never end': () =>
    trickle(
      REST,
      400,
      'POST /api/idp/notifications/email HTTP/1.1\r\nHost: x\r\nidp-signature: t=1,v1=a\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n',
      () => ' ',
    ),
  'prefaces that never end': () => trickle(GRPC, 400, 'PRI * HTTP', () => ''),
  'sessions that say nothing': () => trickle(GRPC, 400, HELLO, () => ''),
  'huge bodies': () =>
    flood(
      REST,
      4,
      Buffer.from(
        'POST /api/manifests/apply HTTP/1.1\r\nHost: x\r\ncontent-type: application/yaml\r\ncontent-length: 99999999999\r\n\r\n',
      ),
      () => Buffer.alloc(65_536, 'a'),
    ),
  'huge bodies in chunks': () =>
    flood(
      REST,
      4,
      Buffer.from(
        'POST /api/idp/notifications/email HTTP/1.1\r\nHost: x\r\nidp-signature: t=1,v1=a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
      ),
      () => Buffer.from('1\r\na\r\n'.repeat(8000)),
    ),
  'requests without an end of them': () =>
    flood(REST, 2, Buffer.alloc(0), () => Buffer.from('GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20))),
  'connections to the gateway': () => come(REST, 50, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
  'connections to gRPC': () => come(GRPC, 50, HELLO),
  'guessed keys': () => guess('/api/check', () => ({ 'x-internal-api-key': `guess-${Math.random()}` }), QUESTION),
  'unknown keys of tokens': () =>
    guess(
      '/api/profile/me/check',
      () => {
        const head = encode({ alg: 'EdDSA', kid: `kid-${Math.random()}` });
        return { authorization: `Bearer ${head}.${encode({ sub: 'x', exp: 9e9 })}.${'A'.repeat(86)}` };
      },
      QUESTION,
    ),
  'guessed keys by gRPC': guessGrpc,
  ...attacksOn({
    port: GRPC,
    key,
    connections: Number(connections),
    isOver,
    pause,
    count: () => {
      done++;
    },
    flood,
    trickle,
  }),
};

const run = ATTACKS[attack];
if (run === undefined) {
  process.stdout.write(JSON.stringify(Object.keys(ATTACKS)));
} else {
  await run();
  process.stdout.write(JSON.stringify({ done }));
}
process.exit(0);
