import { type Mutant, mutant } from './mutant.ts';

/** Brands that sign in at their mail server by access tokens. */
export const MAIL_ACCOUNTS: readonly Mutant[] = [
  mutant(
    'a client secret is kept for another token endpoint',
    'brands/smtp.ts',
    'const moved = elsewhere || tokenUrl !== present.smtpTokenUrl',
    'const moved = elsewhere || tokenUrl === null',
    'brands/oauth2',
  ),
  mutant(
    'a client secret is kept for another mail server',
    'brands/smtp.ts',
    'const moved = elsewhere || tokenUrl',
    'const moved = tokenUrl',
    'brands/oauth2',
  ),
  mutant(
    'secrets that a token endpoint repeats are shown',
    'delivery/token-request.ts',
    "text = text.replaceAll(secret, '***')",
    "text = text.replaceAll('', secret.slice(0, 0))",
    'delivery/access-tokens',
  ),
  mutant(
    'access tokens that a mail server repeats are shown',
    'delivery/smtp-failure.ts',
    '...(error instanceof SignInRefused ? error.tokens : [])',
    '...(error instanceof SignInRefused ? [] : [])',
    'delivery/access-tokens',
  ),
  mutant(
    'audit records of brands hold sealed secrets',
    'brands/brands.ts',
    'smtp: shownSmtp(brand),',
    'smtp: { ...shownSmtp(brand), sealed: [brand.smtpClientSecret, brand.smtpRefreshToken] },',
    'brands/oauth2',
  ),
  mutant(
    'access tokens are fetched from addresses of the inside',
    'brands/token-url.ts',
    "{ reach: 'internet', http: false, anyPort: true, trustedOrigins }",
    "{ reach: 'internal', http: false, anyPort: true, trustedOrigins }",
    'brands/oauth2-keys',
  ),
  mutant(
    'requests for access tokens ignore where tokens may be fetched',
    'delivery/token-request.ts',
    'const { outbound, policy } = options;',
    "const { outbound } = options;\n  const policy: Policy = { reach: 'internal', http: true, anyPort: true };",
    'delivery/access-tokens',
  ),
  mutant(
    'an access token is used after its end',
    'delivery/access-tokens.ts',
    'return kept.until > this.#options.clock.monotonic() ? kept : undefined;',
    'return kept.until > 0 ? kept : undefined;',
    'delivery/access-tokens',
  ),
  mutant(
    'a refused access token is used again',
    'delivery/access-tokens.ts',
    'return (await this.#fetch(owner, true)).token;',
    'return kept?.token ?? (await this.#fetch(owner, true)).token;',
    'delivery/access-tokens',
  ),
  mutant(
    'each mail that waits asks for an access token of its own',
    'delivery/access-tokens.ts',
    'if (present !== undefined) return await present;',
    'if (present !== undefined && replaces) return await present;',
    'delivery/access-tokens',
  ),
  mutant(
    'two processes use one refresh token at once',
    'persistence/brands/refresh-turns.ts',
    'where r.taken_until is null or r.taken_until < clock_timestamp()',
    'where r.taken_until is null or r.taken_until is not null',
    'brands/oauth2',
  ),
  mutant(
    'a refresh token that was given in place of another is forgotten',
    'brands/refresh-turns.ts',
    'kept = next === null ? null : sealing.sealText(context, next);',
    'kept = next === null ? sealing.sealText(context, account.refreshToken) : null;',
    'brands/oauth2',
  ),
];
