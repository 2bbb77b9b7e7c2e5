import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { UsherError } from '../../src/base/errors.ts';
import { type SignatureScheme, TOLERANCE_S, verifySignature } from '../../src/provider/signature.ts';
import { hmac, SIGNING_KEY } from './mail/provider-mails.ts';

/** The vector of the facts, section 1. */
const BODY = '{"contextInfo":{"eventType":"user.human.email.code.added"}}';
const T = 1_700_000_000;
const OF_BODY = 'd6fd5230b17acfce0ea9733b3b3f5eb2194daeec5963d89345d2c2a510130712';
const OF_TIMED = '3f1dcf5f1f2b0103e3113be4336b198c148dea5261712a6048c57d97ff9348ea';

interface Tried {
  header: string;
  body?: string | Buffer;
  keys?: string[];
  scheme?: SignatureScheme;
  now?: number;
}

function tried({ header, body = BODY, keys = [SIGNING_KEY], scheme = 'either', now = T }: Tried): string {
  try {
    verifySignature({ header, body: Buffer.from(body), keys, scheme, now: now * 1000 });
    return 'accepted';
  } catch (error) {
    return error instanceof UsherError ? String(error.reason) : String(error);
  }
}

describe('the signature of e-mail calls', () => {
  test.each([
    ['body', OF_BODY, 'accepted'],
    ['body', OF_TIMED, 'SIGNATURE_INVALID'],
    ['timestamped', OF_BODY, 'SIGNATURE_INVALID'],
    ['timestamped', OF_TIMED, 'accepted'],
    ['either', OF_BODY, 'accepted'],
    ['either', OF_TIMED, 'accepted'],
  ] as const)('the test vector is valid by scheme %s', (scheme, value, result) => {
    expect(tried({ header: `t=${T},v1=${value}`, scheme })).toBe(result);
  });

  test.each([
    [299, 'accepted'],
    [300, 'accepted'],
    [300.5, 'accepted'],
    [300.999, 'accepted'],
    [301, 'SIGNATURE_EXPIRED'],
    [301.001, 'SIGNATURE_EXPIRED'],
    [302, 'SIGNATURE_EXPIRED'],
  ])('a signature of %d seconds ago, or ahead, is %s', (age, result) => {
    expect(TOLERANCE_S).toBe(300);
    for (const value of [OF_TIMED, OF_BODY]) {
      const at = (now: number) => tried({ header: `t=${T},v1=${value}`, now });
      expect([at(T + age), at(T - age)]).toEqual([result, result]);
    }
  });

  test.each([
    [299, 'accepted'],
    [300, 'accepted'],
    [300.999, 'accepted'],
    [301, 'SIGNATURE_EXPIRED'],
  ])('the age of %d seconds is counted in whole seconds', (seconds, result) => {
    for (const now of [T + seconds, T - seconds]) {
      for (const value of [OF_BODY, OF_TIMED]) expect(tried({ header: `t=${T},v1=${value}`, now })).toBe(result);
    }
  });

  test('any of several values, by any of several keys, is valid', () => {
    const wrong = '0'.repeat(64);
    expect(tried({ header: `t=${T},v1=${wrong},v1=${OF_TIMED}` })).toBe('accepted');
    expect(tried({ header: `t=${T}, v1=${OF_BODY}, v0=x` })).toBe('accepted');
    expect(tried({ header: `t=${T},v1=${OF_BODY}`, keys: ['another', SIGNING_KEY] })).toBe('accepted');
    expect(tried({ header: `t=${T},v1=${OF_BODY}`, keys: ['another'] })).toBe('SIGNATURE_INVALID');
    expect(tried({ header: `t=${T},v1=${OF_BODY}`, keys: [] })).toBe('SIGNATURE_INVALID');
    // An empty key signs what anybody can sign.
    for (const keys of [[''], ['', SIGNING_KEY]]) {
      expect(tried({ header: `t=${T},v1=${hmac(BODY, '', null)}`, keys })).toBe('SIGNATURE_INVALID');
    }
  });

  test.each([
    '',
    `v1=${OF_BODY}`,
    `t=${T}`,
    `t=${T},v1=`,
    `t=,v1=${OF_BODY}`,
    `t=0${T},v1=${OF_BODY}`,
    `t=${T}.0,v1=${OF_BODY}`,
    `t=-${T},v1=${OF_BODY}`,
    `t=1e9,v1=${OF_BODY}`,
    `t=${T},t=${T},v1=${OF_BODY}`,
    `t=${T},v1=${OF_BODY.toUpperCase()}`,
    `t=${T},v1=${OF_BODY}0`,
    `t=${T},v1=${OF_BODY.slice(2)}`,
    `t=${T};v1=${OF_BODY}`,
    `T=${T},V1=${OF_BODY}`,
    `t=${T},v2=${OF_BODY}`,
    `t=${T},v1=${OF_BODY},garbage`,
    OF_BODY,
    `t=${T},${`v1=${OF_BODY},`.repeat(100)}v1=${OF_BODY}`,
  ])('the header %# is not a signature', (header) => {
    expect(tried({ header })).toBe('SIGNATURE_INVALID');
  });

  test('any change of body, key, time or value invalidates a signature', () => {
    const change = fc.record({ at: fc.nat(), by: fc.integer({ min: 1, max: 255 }) });
    const changed = (text: string, { at, by }: { at: number; by: number }): Buffer => {
      const bytes = Buffer.from(text);
      const place = at % bytes.length;
      bytes[place] = (bytes[place] ?? 0) ^ by;
      return bytes;
    };
    fc.assert(
      fc.property(change, fc.constantFrom(OF_BODY, OF_TIMED), (mutation, value) => {
        const header = `t=${T},v1=${value}`;
        expect(tried({ header, body: changed(BODY, mutation) })).toBe('SIGNATURE_INVALID');
        expect(tried({ header, keys: [changed(SIGNING_KEY, mutation).toString('latin1')] })).toBe('SIGNATURE_INVALID');
        expect(tried({ header: `t=${T},v1=${changed(value, mutation).toString('latin1')}` })).toBe('SIGNATURE_INVALID');
        expect(tried({ header, body: `${BODY} ` })).toBe('SIGNATURE_INVALID');
      }),
      { numRuns: 2500 },
    );
    // With the time signed, another time is another signature.
    expect(tried({ header: `t=${T + 1},v1=${OF_TIMED}`, scheme: 'timestamped' })).toBe('SIGNATURE_INVALID');
  });
});
