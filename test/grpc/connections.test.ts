import net from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createAuthority } from './certificates.ts';
import { call, closeDoors, openClient, openDoor, openRaw, QUESTION } from './support.ts';

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
