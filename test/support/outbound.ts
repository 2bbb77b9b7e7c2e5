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

/** Whatever a user may write, so that only the address can refuse it. */
export const ANYWHERE: Policy = { reach: 'internet', http: true, anyPort: true };

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
  const outbound = createOutbound({ clock: systemClock, ...(resolve ? { resolve } : {}) });
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
