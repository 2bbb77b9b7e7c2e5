import net from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { useMailWorld } from './mail-world.ts';
import { signature } from './provider-mails.ts';

const MAIL = '/api/idp/notifications/email';

describe('the e-mail endpoint before the body', () => {
  const world = useMailWorld('pglite');

  /** What is said to a client that announces a body and sends nothing of it. */
  function saidBeforeBody(headers: Record<string, string>, length = 500, request = `POST ${MAIL}`): Promise<string> {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const socket = net.connect(Number(new URL(world.usher.rest).port), '127.0.0.1', () =>
      socket.write(`${request} HTTP/1.1\r\nHost: localhost\r\n${lines.join('')}Content-Length: ${length}\r\n\r\n`),
    );
    socket.on('error', () => undefined);
    return new Promise((resolve) => {
      socket.setEncoding('latin1').once('data', (said: string) => {
        socket.destroy();
        resolve(said);
      });
    });
  }

  test.each([
    ['t=1,v1=00', 'SIGNATURE_INVALID'],
    [`t=1,v1=${'0'.repeat(64)}`, 'SIGNATURE_EXPIRED'],
    [`t=99999999999,v1=${'0'.repeat(64)}`, 'SIGNATURE_EXPIRED'],
    [`v1=${'0'.repeat(64)}`, 'SIGNATURE_INVALID'],
    ['t=1', 'SIGNATURE_INVALID'],
    ['', 'SIGNATURE_INVALID'],
  ])('a signature that is invalid for any body is refused before the body is read: %s', async (header, reason) => {
    const said = await saidBeforeBody({ 'idp-signature': header, 'content-type': 'application/json' });
    expect(said).toMatch(/^HTTP\/1\.1 401 /);
    expect(said.toLowerCase()).toContain('www-authenticate: signature realm="usher"');
    expect(said).toContain(reason);
  });

  test('refusals of the e-mail endpoint are in the order 404, 405, 401, 403, 413, 415, 400', async () => {
    const bad = { 'idp-signature': 't=1,v1=00' };
    const good = { 'idp-signature': signature('{}') };
    const page = { origin: 'https://evil.example' };
    const text = { 'content-type': 'text/plain' };
    const status = async (headers: Record<string, string>, length = 500, head = `POST ${MAIL}`) =>
      Number((await saidBeforeBody(headers, length, head)).split(' ')[1]);
    expect(await status({ ...bad, ...page, ...text }, 2_000_000, `POST ${MAIL}s`)).toBe(404);
    expect(await status({ ...bad, ...page, ...text }, 2_000_000, `PUT ${MAIL}`)).toBe(405);
    expect(await status({ ...bad, ...page, ...text }, 2_000_000)).toBe(401);
    expect(await status({ ...good, ...page, ...text }, 2_000_000)).toBe(403);
    expect(await status({ ...good, ...text }, 2_000_000)).toBe(413);
    expect(await status({ ...good, ...text })).toBe(415);
  });
});
