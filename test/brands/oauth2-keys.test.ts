import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { Sealing } from '../../src/brands/sealing.ts';
import { tokenPolicy, tokenUrlProblem } from '../../src/brands/token-url.ts';
import { toConfig } from '../../src/config/config.ts';
import { createStorage } from '../support/databases.ts';
import type { OidcDouble } from '../support/oidc.ts';
import { Rest } from '../support/rest.ts';
import type { SmtpSink } from '../support/smtp.ts';
import { refreshAccount } from '../support/token-accounts.ts';
import { startUsher } from '../support/usher.ts';
import { BRANDS, everything, newKey, startMailWorld, USER } from './oauth2-world.ts';

const KEY = newKey();

let oidc: OidcDouble;
let sink: SmtpSink;
beforeAll(async () => {
  ({ oidc, sink } = await startMailWorld());
});
afterAll(() => Promise.all([oidc?.close(), sink?.close()]));

test('secrets of OAuth 2.0 accounts need a key, move to a newer one, and keep a start from losing it', async () => {
  const storage = await createStorage('postgresql');
  try {
    oidc.accounts.set('postman', { email: USER });
    const { tokenUrl, clientId, refreshToken } = await refreshAccount(oidc);
    const smtp = {
      host: '127.0.0.1',
      port: sink.port,
      user: USER,
      auth: 'oauth2',
      oauth2: { tokenUrl, clientId, refreshToken },
    };
    const bare = await startUsher(storage);
    const refused = await (await Rest.as(bare, 'admin@example.com')).post(BRANDS, { slug: 'a', name: 'A', smtp });
    await bare.close();
    expect([refused.status, refused.body.details.issues]).toEqual([
      400,
      [{ path: 'smtp.oauth2.refreshToken', message: expect.stringContaining('brandSmtpKey') }],
    ]);

    const sends = async (keys: string) => {
      const usher = await startUsher(storage, { env: { BRAND_SMTP_KEY: keys } });
      try {
        const root = await Rest.as(usher, 'admin@example.com');
        const there = (await root.get(BRANDS)).body.data.find((brand: { slug: string }) => brand.slug === 'a');
        const id = there?.id ?? (await root.post(BRANDS, { slug: 'a', name: 'A', smtp })).body.data.id;
        const sent = await root.post(`${BRANDS}/${id}/test-email`, { to: 'ben@example.com' });
        expect([keys, sent.status]).toEqual([keys, 200]);
        await sink.next();
        return await everything(usher.app.database);
      } finally {
        await usher.close();
      }
    };
    const newer = newKey();
    const first = await sends(KEY);
    expect(first).toContain(new Sealing([KEY], systemClock).current);
    await expect(startUsher(storage, { env: { BRAND_SMTP_KEY: newer } })).rejects.toThrow(
      /BRAND_SMTP_KEY.*SMTP secrets of a/s,
    );
    const both = await sends(`${newer},${KEY}`);
    expect(both.match(/"smtpRefreshToken":"(\w+)\./)?.[1]).toBe(new Sealing([newer], systemClock).current);
    // What the token endpoint gave in place of the refresh token is the only one that still counts.
    await sends(newer);
  } finally {
    await storage.remove();
  }
}, 90_000);

test('token endpoints are where the operator and the internet have them', () => {
  const problem = (url: string, env: Record<string, string>) =>
    tokenUrlProblem(url, tokenPolicy(toConfig({ env: { DATABASE_EMBEDDED: 'true', ...env } })));
  const production = {
    NODE_ENV: 'production',
    PUBLIC_URL: 'https://usher.example.com',
    AUTH_ISSUER: 'http://idp.internal:8080',
    AUTH_AUDIENCE: 'usher',
    INTERNAL_API_KEY: 'x:check:0123456789abcdef0123456789abcdef',
    BRANDS_TOKEN_ORIGINS: 'https://10.0.0.5:8443,http://login.internal',
  };
  for (const url of [
    'https://login.microsoftonline.com/t/oauth2/v2.0/token',
    'https://login.example.com:8443/token',
    'http://idp.internal:8080/token',
    'https://10.0.0.5:8443/token',
    'http://login.internal/token',
  ]) {
    expect([url, problem(url, production)]).toEqual([url, null]);
  }
  for (const url of [
    'http://login.example.com/token',
    'https://10.0.0.5/token',
    'https://127.0.0.1/token',
    'http://127.0.0.1/t',
  ]) {
    expect([url, problem(url, production)]).toEqual([url, expect.stringMatching(/^must .*brands\.tokenOrigins/)]);
  }
  expect(problem('http://127.0.0.1:9/token', {})).toBeNull();
  expect(problem('http://10.0.0.5/token', {})).not.toBeNull();
});
