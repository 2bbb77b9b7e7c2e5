import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { AUDIENCE, type OidcDouble, startOidc } from '../support/oidc.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { launchShell } from './chromium.ts';
import { openPanel, type PanelPage, settled } from './panel.ts';

let storage: TestStorage;
let usher: RunningUsher;
let oidc: OidcDouble;
let browser: Browser;

beforeAll(async () => {
  [storage, browser, oidc] = await Promise.all([createStorage('postgresql'), launchShell(), startOidc()]);
  oidc.addClient({ clientId: 'usher-panel', redirectUris: ['http://localhost/panel/'], jwt: true });
  oidc.accounts.set('ada', { email: 'ada@example.com', email_verified: true, name: 'Ada' });
  oidc.tokenClaims = ['email', 'email_verified'];
  usher = await startUsher(storage, {
    env: {
      AUTH_ISSUER: oidc.issuer,
      AUTH_AUDIENCE: AUDIENCE,
      SUPERADMINS: 'ada@example.com',
      PANEL_CLIENT_ID: 'usher-panel',
      // The double signs in whoever the hint names.
      PANEL_AUTHORIZE_PARAMS: JSON.stringify({ login_hint: 'ada', resource: AUDIENCE }),
    },
  });
}, 90_000);
afterAll(async () => {
  await browser?.close();
  await usher?.close();
  await oidc?.close();
  await storage?.remove();
});

const stored = (panel: PanelPage) =>
  panel.page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])') as Promise<string>;
const tokenRequests = () => oidc.requests.get('/oauth/v2/token') ?? 0;

describe('signing in at an OpenID provider', () => {
  test('a visitor comes back signed in to the view that they asked for, and no token is stored', async () => {
    const panel = await openPanel(browser, usher, { besides: [oidc.issuer] });
    await panel.go('/applications?q=at');
    await panel.page.getByText('ada@example.com').first().waitFor();
    expect(new URL(panel.page.url()).pathname + new URL(panel.page.url()).search).toBe('/panel/applications?q=at');
    expect(await stored(panel)).toBe('[{},{}]');
    // A reload keeps nothing, and the provider's session answers without a question.
    await panel.page.reload();
    await settled(panel.page);
    await panel.page.getByText('ada@example.com').first().waitFor();
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });

  test('a sign-out ends at the panel, which asks before it goes to the provider again', async () => {
    const panel = await openPanel(browser, usher, { besides: [oidc.issuer] });
    await panel.go('/');
    await panel.page.getByRole('button', { name: 'Sign out' }).click();
    await panel.page.waitForURL((url) => url.origin === oidc.issuer);
    const before = tokenRequests();
    await panel.go('/');
    await panel.page.getByRole('button', { name: /^Sign in at/ }).waitFor();
    expect(tokenRequests()).toBe(before);
    await panel.page.getByRole('button', { name: /^Sign in at/ }).click();
    await panel.page.getByText('ada@example.com').first().waitFor();
    expect(tokenRequests()).toBe(before + 1);
    await panel.close();
  });

  test('a session that ended goes on where it was, after a sign-in in another tab', async () => {
    const panel = await openPanel(browser, usher, { besides: [oidc.issuer], expected: /Failed to load resource/ });
    const { page } = panel;
    await panel.go('/');
    await page.getByText('ada@example.com').first().waitFor();
    await page.route('**/oauth/v2/token', (route) =>
      route.fulfill({ status: 400, json: { error: 'invalid_grant' }, headers: { 'access-control-allow-origin': '*' } }),
    );
    let ended: string | undefined;
    await page.route('**/api/users*', async (route) => {
      const { authorization } = route.request().headers();
      ended ??= authorization;
      if (authorization !== ended) return await route.continue();
      return await route.fulfill({ status: 401, json: { success: false, code: 'UNAUTHENTICATED', message: 'ended' } });
    });
    await page.getByRole('link', { name: 'People', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    expect(await dialog.getByRole('button').allTextContents()).toEqual(['Sign in again']);
    // A tab that is closed leaves the button as it was.
    await page.context().route('**/panel/?again=*', (route) => route.fulfill({ body: 'closed' }), { times: 1 });
    const [closed] = await Promise.all([page.waitForEvent('popup'), dialog.getByRole('button').click()]);
    await closed.close();
    await dialog.getByRole('button').click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByRole('heading', { name: 'People' }).waitFor();
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });

  test('an answer of the provider for another request is refused, and says so', async () => {
    const panel = await openPanel(browser, usher, { besides: [oidc.issuer] });
    await panel.page.route('**/oauth/v2/authorize*', (route) => {
      const back = new URL(new URL(route.request().url()).searchParams.get('redirect_uri') ?? '');
      back.search = new URLSearchParams({ code: 'stolen', state: 'of another', iss: oidc.issuer }).toString();
      return route.fulfill({ status: 302, headers: { location: back.href } });
    });
    await panel.go('/');
    await panel.page.getByRole('alert').waitFor();
    expect(await panel.page.getByRole('alert').innerText()).toContain('The identity provider did not sign you in.');
    expect(new URL(panel.page.url()).search).toBe('');
    await panel.close();
  });

  test('a provider that does not answer is named, with what it must allow', async () => {
    const panel = await openPanel(browser, usher, {
      besides: [oidc.issuer],
      expected: /Failed to load resource|blocked by CORS policy/,
    });
    oidc.faults.set('/.well-known/openid-configuration', { status: 503, body: '{}' });
    try {
      await panel.go('/');
      await panel.page.getByRole('button', { name: /^Sign in at/ }).click();
      await panel.page.getByText('cannot be reached from this browser').waitFor();
    } finally {
      oidc.faults.clear();
    }
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });
});
