import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type OidcDouble, startOidc } from '../support/oidc.ts';
import {
  example,
  freePort,
  has,
  KEY,
  newFolder,
  nginxFile,
  type RunningProxy,
  type Surroundings,
  startProxy,
  startSurroundings,
} from './guide.ts';

/** oauth2-proxy in front of nginx as docs/guides/gateways.md has them: whom it signs in is asked about, whatever they send. */

const OAUTH2_PROXY = process.env.OAUTH2_PROXY ?? 'oauth2-proxy';
const NGINX = process.env.NGINX ?? '/usr/sbin/nginx';
const SECRET = 'a-secret-of-the-client';
const FORGED = {
  'x-auth-request-email': 'root@example.com',
  'x-forwarded-email': 'root@example.com',
  'x-usher-email': 'root@example.com',
  'x-internal-api-key': KEY,
};

class Browser {
  readonly #cookies = new Map<string, string>();

  /** Follows redirects; at the provider the user is `name`. */
  async open(start: string, name: string | null, headers: Record<string, string> = {}): Promise<number> {
    let url = new URL(start);
    for (let hop = 0; hop < 12; hop++) {
      const cookie = [...this.#cookies].map(([key, value]) => `${key}=${value}`).join('; ');
      const response = await fetch(url, { redirect: 'manual', headers: { ...headers, cookie } });
      await response.arrayBuffer();
      for (const line of response.headers.getSetCookie()) {
        const [pair = ''] = line.split(';', 1);
        const at = pair.indexOf('=');
        this.#cookies.set(pair.slice(0, at), pair.slice(at + 1));
      }
      const location = response.headers.get('location');
      if (location === null || name === null) return response.status;
      url = new URL(location, url);
      if (url.pathname === '/oauth/v2/authorize') url.searchParams.set('login_hint', name);
    }
    throw new Error('redirected for ever');
  }
}

/** Whether both are installed here. */
export const isOauth2ProxyInstalled = (): boolean => has(OAUTH2_PROXY) && has(NGINX);

export function testOauth2Proxy(): void {
  const proxies: RunningProxy[] = [];
  let around: Surroundings;
  let oidc: OidcDouble;
  let url: string;

  beforeAll(async () => {
    around = await startSurroundings();
    oidc = await startOidc();
    for (const name of ['ada', 'ben']) oidc.accounts.set(name, { email: `${name}@example.com`, email_verified: true });
    oidc.accounts.set('eve', { email: 'ada@example.com', email_verified: false });
    const [port, behind] = [await freePort(), await freePort()];
    url = `http://127.0.0.1:${port}`;
    oidc.addClient({ clientId: 'front', redirectUris: [`${url}/oauth2/callback`], jwt: false, secret: SECRET });

    const inner = newFolder();
    const server = around.fill(example('nginx', 'x_forwarded_email'), behind);
    writeFileSync(join(inner, 'nginx.conf'), nginxFile(inner, server));
    const nginx = { command: NGINX, args: ['-p', inner, '-c', join(inner, 'nginx.conf')] };
    proxies.push(await startProxy(nginx, inner, behind));

    const outer = newFolder();
    const text = around
      .fill(example('toml', 'oidc_issuer_url'), behind)
      .replace('127.0.0.1:4180', `127.0.0.1:${port}`)
      .replace('https://idp.example.com', oidc.issuer)
      .replace('https://app.example.com', url)
      .replace('CLIENT_ID', 'front')
      .replace('CLIENT_SECRET', SECRET)
      .replace('COOKIE_SECRET', randomBytes(16).toString('hex'));
    writeFileSync(join(outer, 'oauth2-proxy.cfg'), text);
    const front = { command: OAUTH2_PROXY, args: ['--config', join(outer, 'oauth2-proxy.cfg')] };
    proxies.push(await startProxy(front, outer, port));
  }, 60_000);
  afterAll(async () => {
    for (const one of proxies) one.close();
    await oidc?.close();
    await around?.close();
  }, 60_000);

  /** The status, and whom the application was told. */
  const opened = async (browser: Browser, name: string | null, headers?: Record<string, string>) => {
    around.seen.length = 0;
    return [await browser.open(`${url}/orders?permission=x`, name, headers), [...around.seen]];
  };

  test('lets in whom it signs in and a check allows, by their own address', async () => {
    const browser = new Browser();
    expect(await opened(browser, 'ada')).toEqual([200, ['ada@example.com']]);
    expect(await opened(browser, null, FORGED)).toEqual([200, ['ada@example.com']]);
  });

  test('lets nobody in whom a check denies, whatever they send', async () => {
    const browser = new Browser();
    expect(await opened(browser, 'ben')).toEqual([403, []]);
    expect(await opened(browser, null, FORGED)).toEqual([403, []]);
    expect(
      await opened(browser, null, { authorization: `Bearer ${await around.usher.token('ada@example.com')}` }),
    ).toEqual([403, []]);
  });

  test('sends away who has not signed in, and who has an address that was not verified', async () => {
    expect(await opened(new Browser(), null, FORGED)).toEqual([302, []]);
    const [status, seen] = await opened(new Browser(), 'eve');
    expect([Number(status) >= 400, seen]).toEqual([true, []]);
  });
}
