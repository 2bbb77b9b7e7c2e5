import net from 'node:net';
import { connectivityState } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from '@jest/globals';
import { ConnectionSlots, slotLimits } from '../../src/base/connection-slots.ts';
import { UsherError } from '../../src/base/errors.ts';
import { settings } from '../wire/frames.ts';
import { createAuthority } from './certificates.ts';
import { until } from './front/support.ts';
import { call, closeDoors, closeLater, openClient, openDoor, openRaw, QUESTION } from './support.ts';

afterEach(closeDoors);

const certificate = createAuthority('Usher test authority').issue('usher');
/** The first bytes of a TLS handshake: a record that announces more than comes. */
const HALF_HELLO = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]);
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** A connection that sends these bytes and keeps its side open. Resolves when the other side has closed it. */
function sayAndStay(port: number, bytes: string | Buffer): Promise<void> {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => {
    if (bytes.length > 0) socket.write(bytes);
  });
  // The kernel reports a cut connection.
  socket.on('error', () => undefined).resume();
  return new Promise((resolve) => socket.once('close', () => resolve()).once('end', () => resolve()));
}

const STOPPED = [
  ['says nothing', '', undefined],
  ['stops in the middle of the preface', 'PRI * HTTP', undefined],
  ['sends the preface without settings', PREFACE, undefined],
  ['says nothing instead of a TLS handshake', '', certificate],
  ['stops in the middle of a TLS handshake', HALF_HELLO, certificate],
] as const;

describe('clients without a session', () => {
  test.each(STOPPED)('a client that %s is cut', async (_, bytes, tls) => {
    const door = await openDoor({ tls, times: { arrivalMs: 100 } });
    await sayAndStay(door.port, bytes);
  });

  test.each(STOPPED)('a client that %s does not delay a shutdown', async (_, bytes, tls) => {
    const door = await openDoor({ tls, times: { arrivalMs: 600_000, drainMs: 600_000 } });
    const ended = sayAndStay(door.port, bytes);
    // Connections are accepted in their order.
    await new Promise((resolve) =>
      net.connect(door.port, '127.0.0.1', () => resolve(null)).on('error', () => undefined),
    );
    await door.server.drain();
    await ended;
  });

  test('a client with a session stays connected', async () => {
    const door = await openDoor({ times: { arrivalMs: 100 } });
    const raw = openRaw(door.port);
    await raw.request('/usher.permission.v1.PermissionService/Check', Buffer.alloc(5));
    const client = openClient(door.port);
    await call(client, 'Check', QUESTION);
    await sayAndStay(door.port, 'PRI * HTTP');
    // The one that stopped was cut later than these would have been.
    await raw.request('/usher.permission.v1.PermissionService/Check', Buffer.alloc(5));
    expect((await call(client, 'Check', QUESTION)).message.allowed).toBe(true);
    expect(raw.session.closed).toBe(false);
  });
});

describe('clients that have shown no right key', () => {
  const KEY = 'the-key-of-a-backend';
  const metadata = { 'x-internal-api-key': KEY };
  const authorize = (key: string | undefined) => {
    if (key !== KEY) throw new UsherError('UNAUTHENTICATED', 'Unknown internal API key.');
    return () => true;
  };
  const HELLO = Buffer.concat([Buffer.from(PREFACE), settings()]);

  test('take no more than half of the connections, and give way to callers', async () => {
    const slots = new ConnectionSlots(slotLimits(8), () => undefined);
    const door = await openDoor({ authorize, slots });
    const callers = [];
    for (let n = 0; n < 4; n++) {
      await Promise.all(Array.from({ length: 6 }, () => sayOnce(door.port, HELLO)));
      const client = openClient(door.port);
      callers.push(client);
      expect((await call(client, 'Check', QUESTION, { metadata })).message.allowed).toBe(true);
    }
    await Promise.all(Array.from({ length: 20 }, () => sayOnce(door.port, HELLO)));
    for (const client of callers) {
      expect((await call(client, 'Check', QUESTION, { metadata })).message.allowed).toBe(true);
      expect(client.getChannel().getConnectivityState(false)).toBe(connectivityState.READY);
    }
    await until(() => slots.count <= 8);
    expect(slots.guests).toBeLessThanOrEqual(4);
  });

  test('may idle for a moment only, and callers as long as ever', async () => {
    const door = await openDoor({ authorize, times: { guestIdleMs: 100 } });
    const raw = openRaw(door.port);
    await raw.request('/usher.permission.v1.PermissionService/Check', Buffer.alloc(5), metadata);
    const stranger = openRaw(door.port);
    const ended = new Promise((resolve) => stranger.session.once('close', resolve));
    await stranger.request('/usher.permission.v1.PermissionService/Check', Buffer.alloc(5));
    await ended;
    expect(raw.session.closed).toBe(false);
  });

  test('are refused by their headers, and those who have shown one have a time for their message', async () => {
    const door = await openDoor({ authorize, times: { messageMs: 100 } });
    const raw = openRaw(door.port);
    const open = (headers: Record<string, string>) => {
      const path = { ':method': 'POST', ':path': '/usher.permission.v1.PermissionService/Check' };
      const stream = raw.session.request({ ...path, 'content-type': 'application/grpc', te: 'trailers', ...headers });
      stream.on('error', () => undefined);
      return new Promise((resolve) => stream.once('response', (answer) => resolve(answer['grpc-status'])));
    };
    expect(await open({})).toBe('16');
    expect(await open(metadata)).toBe('4');
  });
});

/** A connection that sends these bytes, and stays. Resolves when they are sent. */
function sayOnce(port: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes, () => resolve()));
    socket.on('error', () => resolve()).resume();
    closeLater({ close: () => socket.destroy() });
  });
}
