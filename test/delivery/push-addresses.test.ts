import { createECDH, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import webPush from 'web-push';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { createEndpointRules } from '../../src/delivery/endpoints.ts';
import { PushSender } from '../../src/delivery/push.ts';
import { createOutbound, type Outbound, type Resolve } from '../../src/outbound/outbound.ts';

/** What a push service's name may not lead to (facts: private, loopback, link-local, CGNAT, mapped addresses). */
const INSIDE = [
  '127.0.0.1',
  '127.255.0.9',
  '0.0.0.0',
  '10.0.0.1',
  '172.16.5.4',
  '192.168.1.1',
  '100.64.0.1',
  '169.254.169.254',
  '100.100.100.200',
  '168.63.129.16',
  '224.0.0.1',
  '255.255.255.255',
  '::1',
  '::',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  'fe80::1',
  'fc00::1',
  'fd00:ec2::254',
  'ff02::1',
];

describe('pushes never reach internal addresses', () => {
  let canary: Server;
  let connections = 0;
  const keys = { ...webPush.generateVAPIDKeys(), subject: 'mailto:ops@example.com' };
  const target = (endpoint: string) => ({
    id: 1,
    endpoint,
    p256dh: createECDH('prime256v1').generateKeys('base64url'),
    auth: randomBytes(16).toString('base64url'),
    vapidKey: keys.publicKey,
    updatedAt: new Date(),
  });
  const content = { title: 'T', body: 'B', icon: null, url: null };

  beforeAll(async () => {
    canary = createServer(() => connections++);
    canary.listen(0, '0.0.0.0');
    await once(canary, 'listening');
  });
  afterAll(async () => {
    canary.close();
    await once(canary, 'close');
  });

  const senderWith = (addresses: string[], allowed: string[] = []) => {
    const asked: string[] = [];
    const resolve: Resolve = (hostname, _options, callback) => {
      asked.push(hostname);
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    };
    const outbound = createOutbound({ clock: systemClock, proxy: { proxy: null, noProxy: [] }, resolve });
    const rules = createEndpointRules(allowed, false);
    const sender = new PushSender({
      outbound,
      rules,
      keys,
      clock: systemClock,
      log: createLogger('silent'),
      loop: 'alone',
    });
    return { sender, asked, close: () => outbound.close() };
  };

  test.each(INSIDE)('a known push service that resolves to %s is refused', async (address) => {
    const { sender, asked, close } = senderWith([address]);
    expect(await sender.send(target('https://fcm.googleapis.com/fcm/send/x'), content)).toEqual({
      kind: 'refused',
      error: 'push_address_not_allowed',
    });
    expect(asked).toEqual(['fcm.googleapis.com']);
    await close();
  });

  test('a listed endpoint with a port reaches only this machine', async () => {
    const { port } = canary.address() as AddressInfo;
    const { sender, close } = senderWith(['10.0.0.1'], [`localhost:${port}`]);
    expect(await sender.send(target(`http://localhost:${port}/x`), content)).toEqual({
      kind: 'refused',
      error: 'push_address_not_allowed',
    });
    await close();
    expect(connections).toBe(0);
  });

  test.each([
    'https://evil.example/x',
    'https://127.0.0.1/x',
    'http://fcm.googleapis.com/x',
    'https://fcm.googleapis.com@127.0.0.1/x',
    'file:///etc/passwd',
    'not a URL',
  ])('a stored endpoint that pushes may not reach fails: %s', async (endpoint) => {
    const { sender, asked, close } = senderWith(['127.0.0.1']);
    expect(await sender.send(target(endpoint), content)).toEqual({
      kind: 'refused',
      error: 'push_endpoint_not_allowed',
    });
    expect(asked).toEqual([]);
    await close();
  });

  test('a subscription made with another VAPID pair is not tried', async () => {
    const { sender, asked, close } = senderWith(['127.0.0.1']);
    const other = { ...target('https://fcm.googleapis.com/x'), vapidKey: 'another' };
    expect(await sender.send(other, content)).toEqual({ kind: 'refused', error: 'push_key_changed' });
    expect(asked).toEqual([]);
    await close();
  });
});

describe('the token that pushes are signed with (RFC 8292)', () => {
  test('each origin has one VAPID token, renewed after an hour', async () => {
    const keys = { ...webPush.generateVAPIDKeys(), subject: 'mailto:ops@example.com' };
    const sent: string[] = [];
    const outbound: Pick<Outbound, 'send'> = {
      send: ({ headers }) => {
        sent.push(headers?.Authorization ?? '');
        return Promise.resolve({ status: 201, header: () => undefined, body: Buffer.alloc(0), json: () => null });
      },
    };
    let now = Date.now();
    const rules = createEndpointRules([], true);
    const sender = new PushSender({
      loop: 'shared',
      outbound,
      rules,
      keys,
      clock: { ...systemClock, now: () => now },
      log: createLogger('silent'),
    });
    const push = async (endpoint: string): Promise<void> => {
      const browser = createECDH('prime256v1').generateKeys('base64url');
      const auth = randomBytes(16).toString('base64url');
      const target = { id: 1, endpoint, p256dh: browser, auth, vapidKey: keys.publicKey, updatedAt: new Date() };
      expect(await sender.send(target, { title: 'T', body: 'B', icon: null, url: null })).toEqual({ kind: 'sent' });
    };
    await push('https://fcm.googleapis.com/one');
    await push('https://fcm.googleapis.com/two');
    await push('https://updates.push.services.mozilla.com/one');
    now += 61 * 60_000;
    await push('https://fcm.googleapis.com/three');
    const [first, again, elsewhere, later] = sent;
    expect(again).toBe(first);
    expect(new Set([first, elsewhere, later]).size).toBe(3);
    const claims = JSON.parse(Buffer.from(first?.split('.')[1] ?? '', 'base64url').toString());
    expect(claims).toMatchObject({ aud: 'https://fcm.googleapis.com', sub: keys.subject });
  });
});
