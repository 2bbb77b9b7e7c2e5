/** Servers on loopback and an outbound client, all ended after each test. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterEach } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import {
  createOutbound,
  OPERATOR_POLICY,
  type Outbound,
  OutboundError,
  type Policy,
  type Resolve,
} from '../../src/outbound/outbound.ts';
import type { ProxySettings } from '../../src/outbound/proxy.ts';

/** Whatever a user may write, so that only the address can refuse it. */
export const ANYWHERE: Policy = { reach: 'internet', http: true, anyPort: true };

/** Spellings of hosts that all end inside, in front of a port. */
export const INSIDE = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '0x7f.1',
  '127.0.0.1.',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '%31%32%37.0.0.1',
  '0',
  '0.0.0.0',
  '0.1.2.3',
  '0x0',
  '000.000.000.000',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'ⓛocalhost',
  '10.0.0.1',
  '10.255.255.255',
  '167772161',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '192.168.255.255',
  '0300.0250.0.1',
  '100.64.0.1',
  '100.127.255.255',
  '100.100.100.200',
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '169.254.170.2',
  '0251.0376.0251.0376',
  '168.63.129.16',
  '192.0.0.192',
  '192.0.2.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::0001]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::FFFF:10.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2002:7f00:1::1]',
  '[2001::1]',
  '[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
  '[2001:db8::1]',
  '[3fff::1]',
  '[fc00::1]',
  '[fd00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[febf::1]',
  '[fec0::1]',
  '[ff02::1]',
  '[ff0e::1]',
  '[100::1]',
  '[5f00::1]',
  '[2001:10::1]',
  '[2606:4700::5efe:127.0.0.1]',
  '[2606:4700::200:5efe:10.0.0.1]',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[::ffff:0.0.0.0]',
];

/** Requests leave directly. */
export const NO_PROXY: ProxySettings = { proxy: null, noProxy: [] };

export const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

export async function listen<S extends Server>(server: S, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve));
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  endings.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** A server that must never be reached: counts connections, on all addresses of this machine. */
export async function startCanary() {
  let connections = 0;
  const server = createServer((_request, response) => response.end('{}'));
  server.on('connection', () => connections++);
  const port = await listen(server, '::').catch(() => listen(server, '0.0.0.0'));
  return { port, connections: () => connections };
}

export async function serve(handle: RequestListener): Promise<{ url: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handle(request, response);
  });
  const port = await listen(server, '127.0.0.1');
  return { url: `http://127.0.0.1:${port}/`, requests };
}

export function outboundWith(resolve?: Resolve): Outbound {
  const outbound = createOutbound({ clock: systemClock, proxy: NO_PROXY, ...(resolve ? { resolve } : {}) });
  endings.push(() => outbound.close());
  return outbound;
}

export function resolvingTo(...answers: string[][]): Resolve & { calls: number } {
  const resolve = (_name: string, _options: unknown, callback: Parameters<Resolve>[2]) => {
    const addresses = answers[Math.min(resolve.calls, answers.length - 1)] ?? [];
    resolve.calls++;
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  resolve.calls = 0;
  return resolve;
}

/** Once the connection of an answer that was read may be used again. */
export const untilFree = () => new Promise((resolve) => setTimeout(resolve, 50));

export async function reasonOf(
  outbound: Outbound,
  url: string,
  options: { policy?: Policy; timeoutMs?: number; maxBytes?: number } = {},
) {
  try {
    const response = await outbound.send({
      url,
      policy: options.policy ?? OPERATOR_POLICY,
      timeoutMs: options.timeoutMs ?? 5000,
      maxBytes: options.maxBytes ?? 10_000,
    });
    return response.status;
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return error.reason;
  }
}
