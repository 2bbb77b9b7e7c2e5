import { describe, expect, test } from '@jest/globals';
import { AUDIENCE, PATHS } from '../support/oidc.ts';
import { any, bearer, CASES, ec, ed, harness, minted, oidc, SEVERAL, seconds } from './bad-tokens.data.ts';
import { outcome } from './harness.ts';

describe.each(Object.entries(CASES))('%s', (_group, cases) => {
  test.each(cases)('the token is refused: %s', async (_name, authorization, expected) => {
    expect(await outcome(harness.tokens, await authorization())).toBe(expected);
    // Neither the first refusal nor anything remembered of it changes the second.
    expect(await outcome(harness.tokens, await authorization())).toBe(expected);
  });
});

test('there are at least 60 bad tokens, and no message contains any part of one', () => {
  const all = Object.values(CASES).flat();
  expect(all.length).toBeGreaterThanOrEqual(60);
  expect(new Set(all.map(([name]) => name)).size).toBeGreaterThanOrEqual(60);
});

test('several headers are refused even when both hold the same token', async () => {
  const token = await minted();
  expect(await outcome(harness.tokens, [token, token])).toBe(SEVERAL);
  expect(await outcome(harness.tokens, [token])).toBe('jane@example.com');
});

describe('good tokens, so that the bad ones fail for their own reason', () => {
  test.each<[string, () => Promise<string>]>([
    ['RS256', () => minted()],
    ['PS256 under a key that names no algorithm', () => minted({}, { kid: 'any', alg: 'PS256' }, any)],
    ['without kid, where the second of two fitting keys verifies', () => minted({}, { kid: undefined }, any)],
    ['ES256', () => minted({}, {}, ec)],
    ['EdDSA', () => minted({}, {}, ed)],
    ['without kid, where the first of two fitting keys verifies', () => minted({}, { kid: undefined })],
    ['without kid, where one key fits', () => minted({}, { kid: undefined }, ed)],
    ['typ at+jwt', () => minted({}, { typ: 'at+jwt' })],
    ['typ application/at+jwt', () => minted({}, { typ: 'application/AT+JWT' })],
    ['without typ', () => minted({}, { typ: undefined })],
    ['typ jwt in lower case', () => minted({}, { typ: 'jwt' })],
    ['nonce in a token typed as access token', () => minted({ nonce: 'n' }, { typ: 'at+jwt' })],
    ['nonce beside the word of Keycloak', () => minted({ nonce: 'n', typ: 'Bearer' })],
    [
      'for its own client, with a scope',
      () => minted({ azp: AUDIENCE, client_id: undefined, jti: undefined, scope: 'a' }),
    ],
    ['a harmless jku that is not read', () => minted({}, { jku: 'http://127.0.0.1:1/' })],
    ['the audience as text', () => minted({ aud: AUDIENCE })],
    ['the audience among others', () => minted({ aud: ['a', AUDIENCE] })],
    ['expired 29 s ago', () => minted({ exp: seconds() - 29 })],
    ['valid in 30 s', () => minted({ nbf: seconds() + 30 })],
    ['issued in 29 s', () => minted({ iat: seconds() + 29 })],
    ['without iat and nbf', () => minted({ iat: undefined, nbf: undefined })],
    ['a fraction of a second', () => minted({ iat: seconds() - 1.5, exp: seconds() + 600.5 })],
    ['a subject of 255 characters', () => minted({ sub: 'x'.repeat(255) })],
    ['an address in capitals, with white space', () => minted({ email: ' Jane@Example.COM\n' })],
    ['verified as text', () => minted({ email_verified: 'true' })],
    ['invalid names', () => minted({ name: 7, given_name: 'a\0b', picture: {}, locale: '' })],
    ['scheme in lower case', async () => (await minted()).replace('Bearer', 'bearer')],
    ['scheme in upper case', async () => (await minted()).replace('Bearer', 'BEARER')],
    ['several spaces', async () => (await minted()).replace('Bearer', 'Bearer  ')],
  ])('the token is accepted: %s', async (_name, authorization) => {
    expect(await outcome(harness.tokens, await authorization())).toBe('jane@example.com');
  });
});

describe('mutants of a good token', () => {
  const count = process.env.USHER_LONG ? 100_000 : 4000;

  test(`${count} one-place changes of a good token are all refused`, async () => {
    const tokens = await Promise.all([minted(), minted({}, {}, ec), minted({}, {}, ed)]);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.';
    let state = 20261121;
    const random = (below: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state % below;
    };
    const statuses = new Set<string>();
    const mutate = () => {
      const token = (tokens[random(tokens.length)] ?? '').slice('Bearer '.length);
      const at = random(token.length);
      const other = alphabet[random(alphabet.length)] ?? '';
      const mutant = [
        token.slice(0, at) + other + token.slice(at + 1),
        token.slice(0, at) + token.slice(at + 1),
        token.slice(0, at) + other + token.slice(at),
        token.slice(0, at),
      ][random(4)];
      return mutant === undefined || mutant === token ? null : bearer(mutant);
    };
    for (let done = 0; done < count; done += 50) {
      const mutants = Array.from({ length: 50 }, mutate).filter((mutant) => mutant !== null);
      for (const result of await Promise.all(mutants.map((mutant) => outcome(harness.tokens, mutant)))) {
        statuses.add(result.split(':', 1)[0] ?? '');
      }
    }
    expect([...statuses]).toEqual(['401 UNAUTHENTICATED']);
  });
});

test('only metadata, keys and userinfo were fetched, whatever was sent', () => {
  const known = new Set<string>([PATHS.discovery, PATHS.jwks, PATHS.userinfo]);
  expect([...oidc.requests.keys()].filter((path) => !known.has(path))).toEqual([]);
  // The clock stood still: one look for each of the two documents, one more at the keys for all unknown ones.
  expect(oidc.requests.get(PATHS.discovery)).toBe(1);
  expect(oidc.requests.get(PATHS.jwks)).toBe(2);
});
