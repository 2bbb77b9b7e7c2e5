import { afterEach, describe, expect, test } from '@jest/globals';
import { HttpProxy } from '../support/http-proxy.ts';
import { PATHS } from '../support/oidc.ts';
import { examine, oidc } from './doctor-world.ts';

describe('the proxy of requests', () => {
  const proxies: HttpProxy[] = [];
  afterEach(async () => {
    for (const proxy of proxies.splice(0)) await proxy.close();
  });
  const outbound = (text: string) =>
    (JSON.parse(text) as { findings: { check: string; found: string }[] }).findings
      .filter(({ check }) => check === 'outbound')
      .map(({ found }) => found);

  test('is named without its credentials and asked for the issuer, and then everything is asked by it', async () => {
    const proxy = await HttpProxy.start({ credentials: 'name:canary' });
    proxies.push(proxy);
    const { text, bad } = await examine({ OUTBOUND_PROXY: proxy.url('name:canary') });
    const host = new URL(oidc.issuer).host;
    expect(outbound(text)).toEqual([`http://${proxy.host} passes requests on, to ${host} for one`]);
    expect(bad('provider')).toEqual([]);
    const targets = proxy.targets.map((target) => target.replace(/localhost:\d+/, 'localhost'));
    expect(new Set(targets)).toEqual(
      new Set([
        // Whether publicUrl is this service.
        'GET http://localhost/api/manifest.schema.json',
        `GET ${oidc.issuer}/`,
        `GET ${oidc.issuer}/.well-known/openid-configuration`,
        `GET ${oidc.issuer}${PATHS.jwks}`,
        ...['fcm.googleapis.com', 'updates.push.services.mozilla.com', 'web.push.apple.com'].map(
          (name) => `CONNECT ${name}:443`,
        ),
      ]),
    );
    expect(bad('push')[0]?.slice(0, 2)).toEqual(['warning', expect.stringContaining('fcm.googleapis.com')]);
  });

  test.each<[string, (proxy: HttpProxy) => Record<string, string> | Promise<Record<string, string>>, RegExp]>([
    ['other credentials', (proxy) => ({ OUTBOUND_PROXY: proxy.url('name:canary') }), /does not take the credentials/],
    [
      'nobody there',
      async (proxy) => {
        const url = proxy.url('name:canary');
        await proxy.close();
        return { OUTBOUND_PROXY: url };
      },
      /cannot be reached/,
    ],
  ])('%s', async (_name, env, found) => {
    const proxy = await HttpProxy.start({ credentials: 'name:password' });
    const url = proxy.url();
    if (found.source.includes('credentials')) proxies.push(proxy);
    const { code, bad } = await examine(await env(proxy));
    expect(code).toBe(1);
    expect(bad('outbound')).toEqual([
      ['failed', expect.stringMatching(found), expect.stringContaining('OUTBOUND_PROXY')],
    ]);
    expect(bad('outbound')[0]?.[1]).toContain(new URL(url).host);
  });

  test('what is excepted is not asked by it, and variables of others are named', async () => {
    const proxy = await HttpProxy.start();
    proxies.push(proxy);
    const excepted = await examine({ OUTBOUND_PROXY: proxy.url(), OUTBOUND_NO_PROXY: '127.0.0.1' });
    expect(excepted.bad('provider')).toEqual([]);
    expect(proxy.targets.filter((target) => target.includes('127.0.0.1'))).toEqual([]);
    const { bad } = await examine({ HTTPS_PROXY: proxy.url(), no_proxy: 'x' });
    expect(bad('outbound')).toEqual([
      ['warning', 'requests leave directly: HTTPS_PROXY is not read', expect.stringContaining('OUTBOUND_PROXY')],
    ]);
  });
});
