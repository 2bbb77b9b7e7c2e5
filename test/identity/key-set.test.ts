import { describe, expect, test } from '@jest/globals';
import { type Fault, newSigningKey, PATHS } from '../support/oidc.ts';

import {
  AWAY,
  ask,
  type Change,
  count,
  HOUR,
  harness,
  JANE,
  MINUTE,
  mint,
  mintBare,
  oidc,
  start,
  UNKNOWN_KEY,
  UNVERIFIED,
  until,
} from './provider.ts';

describe('trouble at the provider is 503, never 401', () => {
  const tooLarge = JSON.stringify({ keys: [], filler: 'x'.repeat(300_000) });
  const faults: [string, Fault][] = [
    ['500', { status: 500, body: '{}' }],
    ['429', { status: 429, body: '{}', headers: { 'retry-after': '9' } }],
    ['404', { status: 404, body: '{}' }],
    ['400', { status: 400, body: '{}' }],
    ['204', { status: 204, body: '' }],
    ['a redirect', { status: 302, body: '', headers: { location: '/oauth/v2/keys' } }],
    ['a page', { status: 200, body: '<!doctype html><h1>Maintenance</h1>' }],
    ['nothing', { status: 200, body: '' }],
    ['null', { status: 200, body: 'null' }],
    ['a list', { status: 200, body: '[]' }],
    ['an empty object', { status: 200, body: '{}' }],
    ['too much', { status: 200, body: tooLarge }],
    ['compressed', { status: 200, body: 'x', headers: { 'content-encoding': 'gzip' } }],
    ['gone', 'reset'],
    ['silent', 'hang'],
  ];
  type Place = 'discovery' | 'jwks' | 'userinfo';
  const places = (['discovery', 'jwks', 'userinfo'] as const).flatMap((place) =>
    faults.map(([name, fault]): [Place, string, Fault] => [place, name, fault]),
  );

  test.each(places)('trouble at the provider is 503: %s: %s', async (place, _name, fault) => {
    oidc.faults.set(PATHS[place], fault);
    const own = start({}, { speed: fault === 'hang' ? 10 : 1 });
    const token = await mintBare();
    const error = await own.tokens.authenticate(token).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      httpStatus: 503,
      code: 'UNAVAILABLE',
      details: { code: 'IDP_UNREACHABLE' },
      retryAfter: 5,
    });
    oidc.faults.clear();
    own.clock.advance(1000);
    expect(await ask(token, own)).toBe(JANE);
  });

  test.each<[string, unknown]>([
    ['no list of keys', { keys: 'none' }],
    ['no keys', { keys: [] }],
    ['a symmetric key', { keys: [{ kty: 'oct', k: 'AAAA', kid: 'x' }] }],
    ['keys for encryption only', { keys: [{ kty: 'RSA', use: 'enc', n: 'x'.repeat(342), e: 'AQAB' }] }],
    ['an RSA key of 1024 bits', { keys: [{ kty: 'RSA', n: 'x'.repeat(171), e: 'AQAB' }] }],
    ['keys that are null', { keys: [null, 1, 'x'] }],
  ])('a key set with %s is refused', async (_name, document) => {
    oidc.faults.set(PATHS.jwks, { status: 200, body: JSON.stringify(document) });
    expect(await ask(await mint())).toBe(AWAY);
    expect(harness.warnings).toEqual(['identity provider keys not loaded']);
  });

  test('an unusable key that the token needs is trouble', async () => {
    const ec = newSigningKey('ES256', 'ec');
    const broken = { ...ec.publicJwk, x: 'AAAA' };
    oidc.faults.set(PATHS.jwks, { status: 200, body: JSON.stringify({ keys: [broken] }) });
    const token = await oidc.mint(oidc.claims('jane', harness.clock.now()), {}, ec);
    expect(await ask(`Bearer ${token}`)).toBe(AWAY);
  });

  test.each<[string, Change]>([
    ['another issuer', { issuer: 'https://idp.example.com' }],
    ['keys that are nowhere', { jwks_uri: undefined }],
    ['keys at no URL', { jwks_uri: 'keys' }],
    ['keys in a file', { jwks_uri: 'file:///etc/passwd' }],
    ['keys at the metadata service of a cloud', { jwks_uri: 'http://169.254.169.254/latest' }],
    ['keys behind credentials', { jwks_uri: 'http://a:b@127.0.0.1/' }],
  ])('invalid metadata is trouble: %s', async (_name, change) => {
    const document = { issuer: oidc.issuer, jwks_uri: `${oidc.issuer}${PATHS.jwks}`, ...change };
    oidc.faults.set(PATHS.discovery, { status: 200, body: JSON.stringify(document) });
    expect(await ask(await mint())).toBe(AWAY);
    expect(count(PATHS.jwks)).toBe(0);
  });

  test('an outage costs one attempt a second, not one a request', async () => {
    oidc.faults.set('*', 'reset');
    for (let time = 0; time < 20; time++) expect(await ask(await mint())).toBe(AWAY);
    const attempts = count(PATHS.discovery);
    // A GET whose connection closed is repeated once.
    expect(attempts).toBeLessThanOrEqual(2);
    harness.clock.advance(1000);
    expect(await ask(await mint())).toBe(AWAY);
    expect(count(PATHS.discovery)).toBeLessThanOrEqual(2 * attempts);
  });
});

describe('the key set', () => {
  test('a rotation accepts tokens of a new key at once, and no longer those of a removed one', async () => {
    const old = await mint();
    expect(await ask(old)).toBe(JANE);
    oidc.rotate();
    harness.clock.advance(1);
    expect(await ask(await mint())).toBe(JANE);
    expect(count(PATHS.jwks)).toBe(2);
    expect(await ask(old)).toBe(UNKNOWN_KEY);
  });

  test('a rotation that keeps the old key accepts both', async () => {
    const old = await mint();
    expect(await ask(old)).toBe(JANE);
    oidc.rotate({ keepOld: true });
    harness.clock.advance(1);
    expect(await ask(await mint())).toBe(JANE);
    expect(await ask(old)).toBe(JANE);
  });

  test('a removed key is noticed without a new token, within ten minutes and a request', async () => {
    const old = await mint();
    expect(await ask(old)).toBe(JANE);
    oidc.rotate();
    harness.clock.advance(10 * MINUTE - 1);
    expect(await ask(old)).toBe(JANE);
    harness.clock.advance(1);
    expect(await ask(old)).toBe(JANE);
    await until(async () => (await ask(old)) === UNKNOWN_KEY);
  });

  test('after an hour of silence the keys are read before an old token is trusted', async () => {
    const old = await mint({ exp: Math.floor(harness.clock.now() / 1000) + 86_400 });
    expect(await ask(old)).toBe(JANE);
    oidc.rotate();
    harness.clock.advance(HOUR);
    expect(await ask(old)).toBe(UNKNOWN_KEY);
  });

  test('an unknown key in the very first token does not read the new set twice', async () => {
    expect(await ask(await mint({}, { kid: 'x' }))).toBe(UNKNOWN_KEY);
    expect(count(PATHS.jwks)).toBe(1);
  });

  test('a flood of unknown keys reads the set once in 30 s', async () => {
    expect(await ask(await mint())).toBe(JANE);
    const reads: number[] = [];
    for (let second = 0; second <= 90; second++) {
      harness.clock.advance(1000);
      const flood = await Promise.all(Array.from({ length: 5 }, (_, n) => mint({}, { kid: `${second}-${n}` })));
      expect(await Promise.all(flood.map((token) => ask(token)))).toEqual(flood.map(() => UNKNOWN_KEY));
      reads.push(count(PATHS.jwks));
    }
    expect(reads[0]).toBe(2);
    expect(reads.at(-1)).toBe(5);
    expect(reads.filter((total, second) => total > 2 + Math.floor(second / 30))).toEqual([]);
    expect(count(PATHS.discovery)).toBe(1);
  });

  test('an unknown key is trouble, not a bad token, while newer keys are unavailable', async () => {
    expect(await ask(await mint())).toBe(JANE);
    oidc.rotate();
    oidc.faults.set(PATHS.jwks, { status: 500, body: '' });
    harness.clock.advance(1000);
    const token = await mint();
    expect(await ask(token)).toBe(AWAY);
    expect(await ask(token)).toBe(AWAY);
    oidc.faults.clear();
    harness.clock.advance(30_000);
    expect(await ask(token)).toBe(JANE);
  });

  test('the last good set serves for 24 hours, and not longer', async () => {
    const exp = Math.floor(harness.clock.now() / 1000) + 7 * 86_400;
    const seen = await mint({ exp });
    expect(await ask(seen)).toBe(JANE);
    const unseen = await mint({ exp, jti: 'another' });
    oidc.faults.set('*', 'reset');
    for (let hour = 1; hour < 24; hour++) {
      harness.clock.advance(HOUR);
      expect([hour, await ask(seen)]).toEqual([hour, JANE]);
    }
    harness.clock.advance(HOUR - 1000);
    expect(await ask(unseen)).toBe(JANE);
    harness.clock.advance(1000);
    expect(await ask(seen)).toBe(AWAY);
    expect(await ask(unseen)).toBe(AWAY);
    expect(await ask(await mint({ exp, iss: 'https://x.example' }))).toBe(AWAY);
    oidc.faults.clear();
    // An attempt that began during the outage may still be under way: recovery takes a second more then.
    await until(async () => {
      harness.clock.advance(1000);
      return (await ask(seen)) === JANE;
    });
  });

  test('an outage delays nobody while the last good set serves', async () => {
    expect(await ask(await mint())).toBe(JANE);
    oidc.faults.set('*', 'hang');
    for (let time = 0; time < 5; time++) {
      harness.clock.advance(11 * MINUTE);
      const start = performance.now();
      expect(await ask(await mint({ jti: String(time) }))).toBe(JANE);
      // The provider's silence would last for 5 s.
      expect(performance.now() - start).toBeLessThan(2000);
    }
  });

  test('an invalid set does not replace a good one', async () => {
    expect(await ask(await mint())).toBe(JANE);
    oidc.faults.set(PATHS.jwks, { status: 200, body: '{"keys":[]}' });
    harness.clock.advance(20 * MINUTE);
    const before = count(PATHS.jwks);
    expect(await ask(await mint({ jti: 'x' }))).toBe(JANE);
    await until(() => count(PATHS.jwks) > before && harness.warnings.length === 1);
    expect(await ask(await mint({ jti: 'y' }))).toBe(JANE);
  });
});

describe('concurrency and memory', () => {
  test('1,000 concurrent first uses of one token cost one verification', async () => {
    const token = await mintBare();
    const answers = await Promise.all(Array.from({ length: 1000 }, () => ask(token)));
    expect(new Set(answers)).toEqual(new Set([JANE]));
    expect([count(PATHS.discovery), count(PATHS.jwks), count(PATHS.userinfo)]).toEqual([1, 1, 1]);
  });

  test('1,000 concurrent tokens cost one key set, and one userinfo each', async () => {
    const tokens = await Promise.all(Array.from({ length: 1000 }, (_, n) => mintBare({ jti: `t${n}` })));
    // A busy machine may take longer for a thousand answers than the provider has for one: time runs slower.
    const own = start({}, { speed: 0.1 });
    const answers = await Promise.all([...tokens, ...tokens].map((token) => ask(token, own)));
    expect(new Set(answers)).toEqual(new Set([JANE]));
    expect([count(PATHS.discovery), count(PATHS.jwks), count(PATHS.userinfo)]).toEqual([1, 1, 1000]);
  });

  test('1,000 concurrent requests during an outage are 503, and succeed afterwards', async () => {
    oidc.faults.set('*', { status: 503, body: '' });
    const token = await mintBare();
    const all = () => Promise.all(Array.from({ length: 1000 }, () => ask(token)));
    expect(new Set(await all())).toEqual(new Set([AWAY]));
    oidc.faults.clear();
    harness.clock.advance(1000);
    expect(new Set(await all())).toEqual(new Set([JANE]));
  });

  test('a remembered token costs no second verification, and ends with its expiry', async () => {
    const token = await mint({ exp: Math.floor(harness.clock.now() / 1000) + 600 });
    const first = await harness.tokens.authenticate(token);
    const second = await harness.tokens.authenticate(token);
    expect(second).toEqual(first);
    expect(harness.tokens.recall(token)).toEqual(first);
    harness.clock.advance(629_000);
    expect(await ask(token)).toBe(JANE);
    expect(harness.tokens.recall(token)).toEqual(first);
    harness.clock.advance(1000);
    expect(harness.tokens.recall(token)).toBeNull();
    expect(await ask(token)).toBe('401 UNAUTHENTICATED: The access token has expired.');
  });

  test('recall accepts exactly the remembered token, and none after a change of keys', async () => {
    const token = await mint({});
    expect(harness.tokens.recall(token)).toBeNull();
    await harness.tokens.authenticate(token);
    expect(harness.tokens.recall(token)?.email).toBe(JANE);
    const others = [`${token} `, `${token}=`, `${token}, ${token}`, token.slice(7), `x${token}`, token.slice(0, -1)];
    for (const other of [undefined, '', 'Bearer ', ...others]) expect(harness.tokens.recall(other)).toBeNull();
    oidc.rotate();
    harness.clock.advance(1);
    expect(await ask(await mint({}))).toBe(JANE);
    expect(harness.tokens.recall(token)).toBeNull();
  });

  test('remembered tokens are bounded, and the oldest goes first', async () => {
    const own = start({}, { maxTokens: 3 });
    const tokens = await Promise.all([1, 2, 3, 4].map((n) => mintBare({ jti: `t${n}` })));
    for (const token of tokens) await ask(token, own);
    expect(count(PATHS.userinfo)).toBe(4);
    for (const token of tokens.slice(1)) await ask(token, own);
    expect(count(PATHS.userinfo)).toBe(4);
    await ask(tokens[0] ?? '', own);
    expect(count(PATHS.userinfo)).toBe(5);
  });

  test('a refusal is not remembered, so a repaired provider works at once', async () => {
    oidc.accounts.set('jane', { email: JANE, email_verified: false });
    const token = await mintBare();
    expect(await ask(token)).toBe(UNVERIFIED);
    oidc.accounts.set('jane', { email: JANE, email_verified: true });
    expect(await ask(token)).toBe(JANE);
  });

  test('errors, causes and log contain no part of a token', async () => {
    oidc.faults.set(PATHS.userinfo, 'reset');
    const token = (await mintBare()).slice('Bearer '.length);
    const error = await harness.tokens.authenticate(`Bearer ${token}`).catch((thrown: unknown) => thrown);
    const texts: string[] = [...harness.warnings];
    for (let at: unknown = error; at instanceof Error; at = at.cause) texts.push(at.message, JSON.stringify(at));
    expect(texts.length).toBeGreaterThan(4);
    for (const part of token.split('.')) expect(texts.join('\n')).not.toContain(part);
  });
});
