import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { createOutbound, type Outbound, type Policy, type Resolve } from '../../src/outbound/outbound.ts';
import { ManualClock } from '../identity/manual-clock.ts';
import { HttpProxy } from '../support/http-proxy.ts';
import { ANYWHERE, endings, INSIDE, reasonOf, resolvingTo, serve, untilFree } from '../support/outbound.ts';

const LOOPBACK: Policy = { ...ANYWHERE, reach: 'loopback' };
const INTERNAL: Policy = { ...ANYWHERE, reach: 'internal' };

let proxy: HttpProxy;
/** The port that every name leads to by the proxy. */
let port: number;
beforeEach(async () => {
  proxy = await HttpProxy.start();
  const { url } = await serve((_request, response) => response.end('{}'));
  port = Number(new URL(url).port);
});
afterEach(() => proxy.close());

function by(resolve: Resolve, clock: Pick<typeof systemClock, 'after'> = systemClock): Outbound {
  const outbound = createOutbound({ clock, proxy: { proxy: proxy.url(), noProxy: [] }, resolve });
  endings.push(() => outbound.close());
  return outbound;
}
const knowsNothing: Resolve = (_name, _options, callback) =>
  callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);

describe('what the proxy is never asked for', () => {
  test('no spelling of an internal address, under any scheme', async () => {
    const outbound = by(knowsNothing);
    const passed: string[] = [];
    for (const host of INSIDE) {
      for (const scheme of ['http', 'https']) {
        const reason = await reasonOf(outbound, `${scheme}://${host}:${port}/`, { policy: ANYWHERE });
        if (reason !== 'refused_address' && reason !== 'refused_url') passed.push(`${scheme}://${host}: ${reason}`);
      }
    }
    expect(passed).toEqual([]);
    expect(proxy.connections).toBe(0);
  });

  test.each([
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'printer.local',
    'db.internal',
    'db.internal.',
    'wiki.corp',
    'router.lan',
    'nas.home.arpa',
    'intranet',
    'usher.svc.cluster.local',
    'metadata.google.internal',
    'metadata.goog',
  ])('%s, for a URL of a user', async (host) => {
    proxy.names.set(host.toLowerCase(), port);
    expect(await reasonOf(by(knowsNothing), `http://${host}/`, { policy: ANYWHERE })).toBe('refused_address');
    expect(proxy.connections).toBe(0);
  });

  test.each(['metadata.google.internal', 'instance-data', '169.254.169.254', '[fd00:ec2::254]'])(
    '%s, not even for the operator',
    async (host) => {
      proxy.names.set(host, port);
      expect(await reasonOf(by(knowsNothing), `http://${host}/`, { policy: INTERNAL })).toBe('refused_address');
      expect(proxy.connections).toBe(0);
    },
  );

  test.each<[string, Policy, string[]]>([
    ['this machine', ANYWHERE, ['127.0.0.1']],
    ['a network of the operator', ANYWHERE, ['10.0.0.1']],
    ['one, and also the internet', ANYWHERE, ['8.8.8.8', '10.0.0.1']],
    ['a mapped address', ANYWHERE, ['::ffff:10.0.0.1']],
    ['a network of the operator, by a development endpoint', LOOPBACK, ['10.0.0.1']],
    ['a metadata service', INTERNAL, ['169.254.169.254']],
  ])('a name that is found here and leads to %s', async (_name, policy, addresses) => {
    proxy.names.set('inside.example', port);
    const outbound = by(resolvingTo(addresses));
    for (const scheme of ['http', 'https']) {
      expect(await reasonOf(outbound, `${scheme}://inside.example/`, { policy })).toBe('refused_address');
    }
    expect(proxy.connections).toBe(0);
  });

  test('a name that leads to a network of the operator, once another policy has opened a connection to it', async () => {
    proxy.names.set('moved.example', port);
    const outbound = by(resolvingTo(['10.0.0.1']));
    expect(await reasonOf(outbound, 'http://moved.example/', { policy: INTERNAL })).toBe(200);
    expect(await reasonOf(outbound, 'http://moved.example/', { policy: ANYWHERE })).toBe('refused_address');
  });
});

describe('what it is asked for', () => {
  test.each<[string, Policy, string]>([
    ['localhost', LOOPBACK, 'http://localhost'],
    ['127.0.0.1', LOOPBACK, 'http://127.0.0.1'],
    ['127.0.0.1', INTERNAL, 'http://127.0.0.1'],
    ['10.1.2.3', INTERNAL, 'http://10.1.2.3'],
    ['8.8.8.8', ANYWHERE, 'http://8.8.8.8'],
    ['idp', INTERNAL, 'http://idp'],
    ['idp.internal', INTERNAL, 'http://idp.internal'],
    ['push.example', ANYWHERE, 'http://push.example'],
    ['localhost.example', ANYWHERE, 'http://localhost.example'],
  ])('%s with %j', async (name, policy, origin) => {
    proxy.names.set(name, port);
    expect(await reasonOf(by(knowsNothing), `${origin}/`, { policy })).toBe(200);
    expect(proxy.targets).toEqual([`GET ${origin}/`]);
  });

  test('a connection of a wide policy is not lent to a narrow one', async () => {
    proxy.names.set('target.example', port);
    const outbound = by(resolvingTo(['8.8.8.8']));
    for (const policy of [INTERNAL, INTERNAL, ANYWHERE]) {
      expect(await reasonOf(outbound, 'http://target.example/', { policy })).toBe(200);
      await untilFree();
    }
    expect(proxy.connections).toBe(2);
  });

  test('a name is looked up here once in a while, not with every request', async () => {
    proxy.names.set('target.example', port);
    const resolve = resolvingTo(['8.8.8.8']);
    const outbound = by(resolve);
    for (let time = 0; time < 3; time++) expect(await reasonOf(outbound, 'http://target.example/')).toBe(200);
    expect(resolve.calls).toBe(1);
  });

  test('a resolver that is silent is not waited for, and what it says late counts for the next request', async () => {
    proxy.names.set('target.example', port);
    const clock = new ManualClock({ speed: 50 });
    let answer: () => void = () => undefined;
    const asked = Promise.withResolvers<void>();
    const outbound = by((_name, _options, callback) => {
      answer = () => callback(null, [{ address: '10.0.0.1', family: 4 }]);
      asked.resolve();
    }, clock);
    const first = reasonOf(outbound, 'http://target.example/', { policy: ANYWHERE, timeoutMs: 500_000 });
    await asked.promise;
    expect(await first).toBe(200);
    answer();
    expect(await reasonOf(outbound, 'http://target.example/', { policy: ANYWHERE })).toBe('refused_address');
  });

  test('the caller can cancel while a name is looked up', async () => {
    const controller = new AbortController();
    const outbound = by(() => controller.abort());
    const sent = outbound.send({
      url: 'http://target.example/',
      policy: INTERNAL,
      timeoutMs: 60_000,
      maxBytes: 10,
      signal: controller.signal,
    });
    await expect(sent).rejects.toMatchObject({ reason: 'aborted' });
    expect(proxy.connections).toBe(0);
  });
});
