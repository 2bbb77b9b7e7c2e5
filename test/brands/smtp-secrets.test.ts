import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { systemClock } from '../../src/base/clock.ts';
import { UsherError } from '../../src/base/errors.ts';
import { clientSecretContext, passwordContext, refreshTokenContext, Sealing } from '../../src/brands/sealing.ts';
import { type SmtpInput, shownSmtp, smtpChange } from '../../src/brands/smtp.ts';
import type { BrandRow } from '../../src/persistence/brands/brands.ts';

const sealing = new Sealing([randomBytes(32).toString('base64')], systemClock);
const RULES = { sealing, tokenUrlProblem: () => null };

const BRAND = {
  id: 7,
  smtpHost: null,
  smtpPort: null,
  smtpSecure: false,
  smtpAllowInsecure: false,
  smtpUser: null,
  smtpPassword: null,
  smtpKey: null,
  smtpAuth: 'password',
  smtpTokenUrl: null,
  smtpClientId: null,
  smtpClientSecret: null,
  smtpScope: null,
  smtpRefreshToken: null,
} as BrandRow;

const sometimes = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });
const secret = fc.oneof(fc.constant(null), fc.constantFrom('s1', 's2'));
const oauth2 = fc.record({
  tokenUrl: sometimes(fc.constantFrom('https://a.example.com/token', 'https://b.example.com/token')),
  clientId: sometimes(fc.constantFrom('c1', 'c2')),
  clientSecret: sometimes(secret),
  scope: sometimes(fc.constantFrom(null, 'mail')),
  refreshToken: sometimes(secret),
});
const write: fc.Arbitrary<SmtpInput | null> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(null) },
  {
    weight: 12,
    arbitrary: fc.record({
      host: sometimes(fc.constantFrom('h1', 'h2')),
      port: sometimes(fc.constantFrom(25, 587)),
      user: sometimes(fc.constantFrom(null, 'u1', 'u2')),
      auth: sometimes(fc.constantFrom('password', 'oauth2')),
      password: sometimes(secret),
      oauth2: sometimes(fc.option(oauth2, { freq: 6 })),
    }),
  },
);

/** The secrets that are stored, opened. */
function opened(row: BrandRow): Record<string, string | null> {
  const { id, smtpPassword, smtpKey, smtpClientSecret, smtpRefreshToken } = row;
  return {
    password:
      smtpPassword === null ? null : sealing.open(passwordContext(id), { key: smtpKey ?? '', text: smtpPassword }),
    clientSecret: smtpClientSecret === null ? null : sealing.openText(clientSecretContext(id), smtpClientSecret),
    refreshToken: smtpRefreshToken === null ? null : sealing.openText(refreshTokenContext(id), smtpRefreshToken),
  };
}

/** Where each secret would be sent, or what would be sent there by its means. */
function destinations({ smtpHost, smtpPort, smtpUser, smtpTokenUrl, smtpClientId }: BrandRow): Record<string, string> {
  const server = JSON.stringify([smtpHost, smtpPort, smtpUser]);
  const endpoint = JSON.stringify([server, smtpTokenUrl, smtpClientId]);
  return { password: server, clientSecret: endpoint, refreshToken: endpoint };
}

test('no sequence of writes keeps a secret for another destination, or settings that cannot sign in', () => {
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(write, { maxLength: 12 }), (writes) => {
      let row = BRAND;
      /** For which destination an administrator last sent each secret. */
      const sentFor: Record<string, string> = {};
      for (const sent of writes) {
        let after: BrandRow;
        try {
          after = { ...row, ...smtpChange(row, sent, RULES) };
        } catch (error) {
          expect(error).toBeInstanceOf(UsherError);
          continue;
        }
        accepted++;
        const given: Record<string, unknown> = { ...sent?.oauth2, password: sent?.password };
        const now = destinations(after);
        for (const [name, value] of Object.entries(opened(after))) {
          if (typeof given[name] === 'string') {
            expect(value).toBe(given[name]);
            sentFor[name] = now[name] ?? '';
          } else if (given[name] === null) expect(value).toBeNull();
          if (value !== null) expect([name, now[name]]).toEqual([name, sentFor[name]]);
        }
        expectWhole(after);
        row = after;
      }
    }),
    { numRuns: process.env.USHER_LONG === '1' ? 50_000 : 2000 },
  );
  // What refuses everything proves little.
  expect(accepted).toBeGreaterThan(1000);
});

function expectWhole(row: BrandRow): void {
  const shown = shownSmtp(row);
  const secrets = opened(row);
  if (shown === null) expect(Object.values(secrets)).toEqual([null, null, null]);
  else if (shown.auth === 'password') {
    expect([shown.oauth2, secrets.clientSecret, secrets.refreshToken]).toEqual([null, null, null]);
    if (shown.hasPassword) expect(shown.user).not.toBeNull();
  } else {
    expect([secrets.password, shown.user === null, shown.oauth2 === null]).toEqual([null, false, false]);
    expect(shown.oauth2?.hasClientSecret === true || shown.oauth2?.hasRefreshToken === true).toBe(true);
  }
}
