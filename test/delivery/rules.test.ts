import { createECDH, ECDH } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import webPush from 'web-push';
import { CircuitBreaker } from '../../src/base/circuit-breaker.ts';
import { toConfig } from '../../src/config/config.ts';
import { MAX_ATTEMPTS, nextAttemptIn, pauseAfter, readRetryAfter } from '../../src/delivery/backoff.ts';
import { createEndpointRules } from '../../src/delivery/endpoints.ts';
import { generatePair, isPair, pushKeyFaults, readBytes, readP256Point } from '../../src/delivery/p256.ts';
import { fitPayload, MAX_PUSH_BYTES } from '../../src/delivery/push.ts';
import { conclude } from '../../src/delivery/push-channel.ts';
import { openVapidKeys } from '../../src/delivery/push-keys.ts';
import { ManualClock } from '../identity/manual-clock.ts';

describe('back-off', () => {
  test('a delivery has at most eight attempts over about a day, with growing pauses', () => {
    const pauses = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, index) => pauseAfter(index + 1));
    expect(MAX_ATTEMPTS).toBe(8);
    const hours = pauses.reduce((sum, ms) => sum + ms, 0) / 3_600_000;
    expect(hours).toBeGreaterThan(20);
    expect(hours).toBeLessThan(26);
    // Jitter never turns the order round.
    for (let n = 1; n < MAX_ATTEMPTS - 1; n++) {
      expect(nextAttemptIn(n, 0.999)).toBeLessThan(nextAttemptIn(n + 1, 0) ?? 0);
    }
    expect(nextAttemptIn(MAX_ATTEMPTS, 0.5)).toBeNull();
    expect(nextAttemptIn(MAX_ATTEMPTS, 0.5, 1000)).toBeNull();
  });

  test('a retry is never earlier than the server asked for', () => {
    expect(nextAttemptIn(1, 0, 600_000)).toBe(600_000);
    expect(nextAttemptIn(1, 0, 10)).toBe(3200);
  });

  test.each([
    ['120', 120_000],
    [' 0 ', 0],
    ['Wed, 21 Oct 2026 07:28:10 GMT', 10_000],
    ['Wed, 21 Oct 2020 07:28:00 GMT', 0],
    ['999999999', 24 * 3_600_000],
    ['soon', null],
    ['-5x', null],
    ['', null],
    [undefined, null],
  ])('Retry-After is read: %s', (value, ms) => {
    expect(readRetryAfter(value, Date.parse('2026-10-21T07:28:00Z'))).toBe(ms);
  });
});

describe('the circuit breaker', () => {
  test('three failures in a row open the circuit for growing times up to a limit, and a success closes it', () => {
    const clock = new ManualClock();
    const breaker = new CircuitBreaker(clock);
    breaker.failed('a');
    breaker.failed('a');
    expect(breaker.remaining('a')).toBe(0);
    breaker.failed('a');
    expect(breaker.remaining('a')).toBe(5000);
    // What was under way together counts once.
    breaker.failed('a');
    expect(breaker.remaining('a')).toBe(5000);
    expect(breaker.open()).toEqual(['a']);
    const seen: number[] = [];
    for (let round = 0; round < 8; round++) {
      clock.advance(300_001);
      breaker.failed('a');
      seen.push(breaker.remaining('a'));
    }
    expect(seen).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000]);
    expect(breaker.remaining('b')).toBe(0);
    breaker.succeeded('a');
    expect(breaker.open()).toEqual([]);
    breaker.failed('a');
    expect(breaker.remaining('a')).toBe(0);
  });

  test('refused credentials open the circuit at once', () => {
    const clock = new ManualClock();
    const breaker = new CircuitBreaker(clock);
    breaker.refused('a');
    expect(breaker.remaining('a')).toBe(60_000);
    clock.advance(60_000);
    expect(breaker.remaining('a')).toBe(0);
  });
});

describe('endpoints', () => {
  const rules = createEndpointRules(['push.example.com', '.corp.example', 'localhost:9443', '10.0.0.5:443'], false);
  const inProduction = createEndpointRules(['localhost:9443', '127.0.0.1:8443'], true);

  test.each([
    'https://fcm.googleapis.com/fcm/send/abc:def',
    'https://updates.push.services.mozilla.com/wpush/v2/abc',
    'https://updates.push.services.mozilla.com:443/wpush/v2/abc',
    'https://jmt17.google.com/fcm/send/abc:def',
    'https://updates-autopush.stage.mozaws.net/wpush/v2/abc',
    'https://updates-autopush.dev.mozaws.net/wpush/v2/abc',
    'https://updates-canary.push.services.mozilla.com/wpush/v2/abc',
    'https://web.push.apple.com/abc',
    'https://api.push.apple.com/abc',
    'https://db5p.notify.windows.com/w/?token=abc',
    'https://push.example.com/x',
    'https://a.corp.example/x',
    'https://localhost:9443/x',
    'http://localhost:9443/x',
    'https://10.0.0.5/x',
  ])('pushes to %s are allowed', (endpoint) => {
    expect(rules.problemOf(endpoint)).toBeNull();
  });

  test.each([
    '',
    'no url',
    'fcm.googleapis.com/x',
    'http://fcm.googleapis.com/x',
    'ftp://fcm.googleapis.com/x',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'data:text/plain,x',
    'https://fcm.googleapis.com:8443/x',
    'https://fcm.googleapis.com:80/x',
    'https://user@fcm.googleapis.com/x',
    'https://user:secret@fcm.googleapis.com/x',
    'https://fcm.googleapis.com@evil.example/x',
    'https://evil.example/#@fcm.googleapis.com',
    'https://fcm.googleapis.com/x#y',
    'https://fcm.googleapis.com/x#',
    'https://fcm.googleapis.com.evil.example/x',
    'https://evilfcm.googleapis.com/x',
    'https://x.fcm.googleapis.com/x',
    'https://fcm.googleapis.com./x',
    'https://fcm.googleapis.com\\@evil.example/x',
    'https:\\\\fcm.googleapis.com/x',
    'https://fcm.googleapis.com/x y',
    'https://fcm.goo\tgleapis.com/x',
    'https://fcm.googleapis.com/\u0000',
    'https://push.apple.com/x',
    'https://evilpush.apple.com/x',
    'https://notify.windows.com/x',
    'https://.notify.windows.com/x',
    'https://corp.example/x',
    'https://evilcorp.example/x',
    'https://permanently-removed.invalid/fcm/send/x',
    'https://localhost/x',
    'https://localhost:9444/x',
    'http://localhost:9444/x',
    'http://10.0.0.5:443/x',
    'https://127.0.0.1/x',
    'https://127.1/x',
    'https://2130706433/x',
    'https://0x7f000001/x',
    'https://0177.0.0.1/x',
    'https://169.254.169.254/latest/meta-data',
    'https://[::1]/x',
    'https://[::ffff:127.0.0.1]/x',
    'https://[fd00:ec2::254]/x',
    'https://10.0.0.6/x',
    'https://metadata.google.internal/x',
    `https://fcm.googleapis.com/${'x'.repeat(2048)}`,
  ])('pushes to %s are refused', (endpoint) => {
    expect(rules.problemOf(endpoint)).toEqual(expect.any(String));
  });

  test('production refuses cleartext endpoints, and a listed port reaches only this machine', () => {
    expect(inProduction.problemOf('http://localhost:9443/x')).toEqual(expect.any(String));
    expect(inProduction.problemOf('https://localhost:9443/x')).toBeNull();
    expect(inProduction.policyOf('https://localhost:9443/x')).toEqual({
      reach: 'loopback',
      http: false,
      anyPort: true,
    });
    expect(rules.policyOf('https://push.example.com/x')).toEqual({ reach: 'internet', http: false, anyPort: false });
    expect(rules.policyOf('https://10.0.0.5/x').reach).toBe('internet');
  });

  test('an endpoint of 2,048 characters is accepted, and a longer one refused', () => {
    const base = 'https://fcm.googleapis.com/';
    expect(rules.problemOf(base + 'x'.repeat(2048 - base.length))).toBeNull();
    expect(rules.problemOf(base + 'x'.repeat(2049 - base.length))).not.toBeNull();
  });
});

describe('keys', () => {
  const { publicKey, privateKey } = webPush.generateVAPIDKeys();
  const push = { subject: 'mailto:ops@example.com', allowedHosts: [] };
  const keep = (): string => {
    throw new Error('nothing is to be kept');
  };

  test('padded and standard base64 are normalized, and an invalid point is refused', () => {
    const bytes = Buffer.from(publicKey, 'base64url');
    expect(readP256Point(bytes.toString('base64'))).toBe(publicKey);
    expect(readP256Point(publicKey)).toBe(publicKey);
    const hybrid = Buffer.from(bytes);
    hybrid[0] = 6;
    expect(readP256Point(hybrid.toString('base64url'))).toBeNull();
    expect(
      readP256Point(ECDH.convertKey(publicKey, 'prime256v1', 'base64url', 'base64url', 'compressed') as string),
    ).toBeNull();
    expect(readBytes('AAAAAAAAAAAAAAAAAAAAAA==', 16)).toBe('AAAAAAAAAAAAAAAAAAAAAA');
    // The last character has bits that stand for nothing.
    expect(readBytes('AAAAAAAAAAAAAAAAAAAAAB', 16)).toBeNull();
  });

  test('a configured VAPID pair must match, development creates its own, and production none', () => {
    const config = toConfig({ env: {} });
    const good = { ...config, push: { ...push, publicKey, privateKey } };
    expect(pushKeyFaults(good)).toEqual([]);
    expect(openVapidKeys(good, keep)).toEqual({ publicKey, privateKey, subject: push.subject });
    const other = createECDH('prime256v1').generateKeys('base64url');
    for (const wrong of [
      { publicKey: other, privateKey },
      { publicKey: 'x', privateKey },
      { publicKey, privateKey: Buffer.alloc(32).toString('base64url') },
    ]) {
      const faults = pushKeyFaults({ ...config, push: { ...push, ...wrong } });
      expect(faults.map(({ key }) => key)).toEqual(['push.publicKey']);
      expect(JSON.stringify(faults)).not.toContain(privateKey);
    }
    let file: string | undefined;
    const kept = () => openVapidKeys(config, (make) => (file ??= make()));
    expect(kept()).toEqual(kept());
    expect(openVapidKeys({ ...config, production: true }, keep)).toBeNull();
  });

  test('web-push can sign with every generated pair', () => {
    // One private key in 256 begins with a zero byte, which a shorter spelling would lose.
    for (let made = 0; made < 1000; made++) {
      const [publicKey, privateKey] = generatePair();
      expect(isPair(publicKey, privateKey)).toBe(true);
    }
    const [publicKey, privateKey] = generatePair();
    const sign = () =>
      webPush.getVapidHeaders('https://push.example', 'mailto:a@b.cz', publicKey, privateKey, 'aes128gcm');
    expect(sign).not.toThrow();
  });
});

describe('the payload of a push (at most 3,993 bytes)', () => {
  test('a push payload always fits, is cut between characters, and loses nothing unnecessarily', () => {
    const unit = fc.oneof(fc.constant('"'), fc.constant('\n'), fc.constant('ž'), fc.constant('😀'), fc.string());
    const words = fc.array(unit, { maxLength: 900 }).map((parts) => parts.join('').toWellFormed());
    const link = fc.option(fc.string({ maxLength: 2048 }).map((text) => text.toWellFormed()));
    fc.assert(
      fc.property(words, words, link, link, (title, body, icon, url) => {
        const text = fitPayload({ title, body, icon, url });
        const size = Buffer.byteLength(text);
        expect(size).toBeLessThanOrEqual(MAX_PUSH_BYTES);
        const fitted = JSON.parse(text) as { title: string; body: string };
        expect(fitted.body.isWellFormed() && fitted.title.isWellFormed()).toBe(true);
        const whole = JSON.stringify({ title, body, icon, url });
        if (Buffer.byteLength(whole) <= MAX_PUSH_BYTES) expect(text).toBe(whole);
      }),
      { numRuns: 200 },
    );
  });

  test('a long push body uses the available room', () => {
    for (let length = 3900; length < 4100; length++) {
      const text = fitPayload({ title: 'T', body: 'ž'.repeat(length), icon: null, url: null });
      expect(Buffer.byteLength(text)).toBeGreaterThanOrEqual(MAX_PUSH_BYTES - 4);
    }
  });
});

describe('the outcome of a push to all browsers of a person', () => {
  const target = (id: number) => {
    return { id, endpoint: 'https://x', p256dh: '', auth: '', vapidKey: '', updatedAt: new Date(0) };
  };
  const sent = { kind: 'sent' } as const;
  const gone = { kind: 'gone' } as const;
  const refused = { kind: 'refused', error: 'push_rejected' } as const;
  const later = { kind: 'later', error: 'push_throttled', retryAfterMs: 60_000, throttled: true } as const;
  const held = { kind: 'held', forMs: 5000 } as const;

  test.each([
    [1, [sent], { sent: true, attempted: true, againInMs: null, error: null, pushDone: [9, 1] }],
    [1, [gone], { sent: false, attempted: true, againInMs: null, error: 'push_gone', pushDone: [9, 1] }],
    [1, [refused], { sent: false, againInMs: null, error: 'push_rejected', pushDone: [9, 1] }],
    [1, [gone, refused], { sent: false, againInMs: null, error: 'push_rejected' }],
    [1, [later], { sent: false, attempted: true, againInMs: 60_000, error: 'push_throttled', pushDone: [9] }],
    [1, [sent, later], { sent: true, againInMs: 60_000, pushDone: [9, 1] }],
    [8, [sent, later], { sent: true, againInMs: null, pushDone: [9, 1] }],
    [8, [later], { sent: false, againInMs: null, error: 'push_throttled' }],
    [8, [held], { sent: false, attempted: false, againInMs: 5000, error: null, pushDone: [9] }],
    [2, [sent, held], { sent: true, attempted: true, againInMs: 5000, pushDone: [9, 1] }],
    [2, [later, held], { sent: false, attempted: true, againInMs: 60_000 }],
  ] as const)("attempt %d combines the browsers' outcomes: %j", (attempts, results, expected) => {
    const all = results.map((result, index) => ({ target: target(index + 1), result }));
    expect(conclude({ attempts, pushDone: [9] }, all, 0)).toMatchObject(expected);
  });
});
