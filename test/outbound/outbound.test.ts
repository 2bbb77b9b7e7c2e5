import { describe, expect, test } from '@jest/globals';
import { addressKind } from '../../src/base/ip-address.ts';
import {
  INTERNET_POLICY,
  OPERATOR_POLICY,
  OutboundError,
  type Policy,
  type Reach,
  type Resolve,
  readTarget,
} from '../../src/outbound/outbound.ts';
import { ANYWHERE, INSIDE, outboundWith, reasonOf, resolvingTo, serve, startCanary } from '../support/outbound.ts';

describe('spellings of internal addresses', () => {
  test('the list of spellings is long enough', () => {
    expect(new Set(INSIDE).size).toBeGreaterThanOrEqual(60);
  });

  test('no spelling of an internal address is connected to, under any scheme', async () => {
    const canary = await startCanary();
    const outbound = outboundWith();
    const outcomes: Record<string, unknown> = {};
    for (const host of INSIDE) {
      for (const scheme of ['http', 'https']) {
        outcomes[`${scheme} ${host}`] = await reasonOf(outbound, `${scheme}://${host}:${canary.port}/`, {
          policy: ANYWHERE,
        });
      }
    }
    const wrong = Object.entries(outcomes).filter(
      ([spelling, reason]) =>
        reason !== 'refused_address' &&
        reason !== 'refused_url' &&
        // Not every system's resolver knows this one.
        !(spelling.endsWith('localhost.') && reason === 'unreachable'),
    );
    expect(wrong).toEqual([]);
    expect(canary.connections()).toBe(0);
  });

  test('the same spellings of loopback connect where the policy allows it', async () => {
    const canary = await startCanary();
    const outbound = outboundWith();
    const hosts = ['127.0.0.1', '127.1', '2130706433', '0x7f.1', 'localhost', '[::ffff:127.0.0.1]'];
    for (const host of hosts) {
      expect(
        await reasonOf(outbound, `http://${host}:${canary.port}/`, { policy: { ...ANYWHERE, reach: 'loopback' } }),
      ).toBe(200);
    }
    expect(canary.connections()).toBeGreaterThanOrEqual(3);
  });
});

describe('kinds of addresses', () => {
  test.each([
    ['1.1.1.1', 'global'],
    ['9.255.255.255', 'global'],
    ['11.0.0.0', 'global'],
    ['100.63.255.255', 'global'],
    ['100.128.0.0', 'global'],
    ['126.255.255.255', 'global'],
    ['128.0.0.0', 'global'],
    ['172.15.255.255', 'global'],
    ['172.32.0.0', 'global'],
    ['192.167.255.255', 'global'],
    ['192.169.0.0', 'global'],
    ['198.17.255.255', 'global'],
    ['198.20.0.0', 'global'],
    ['223.255.255.255', 'global'],
    ['2606:4700:4700::1111', 'global'],
    ['2a00:1450::1', 'global'],
    ['::ffff:8.8.8.8', 'global'],
    ['64:ff9b::808:808', 'global'],
    ['10.0.0.0', 'private'],
    ['100.64.0.0', 'private'],
    ['172.16.0.0', 'private'],
    ['192.168.0.0', 'private'],
    ['fd12:3456::1', 'private'],
    ['fc00::', 'private'],
    ['::ffff:10.1.2.3', 'private'],
    ['::ffff:0:10.1.2.3', 'private'],
    ['64:ff9b::a01:203', 'private'],
    ['64:ff9b:1::a01:203', 'never'],
    ['2002:808:808::', 'never'],
    ['2a00::5efe:808:808', 'never'],
    ['2a00::200:5efe:8.8.8.8', 'never'],
    ['2a00::172.16.198.2:1', 'never'],
    ['127.0.0.0', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.1.2.3', 'loopback'],
    ['169.254.169.254', 'never'],
    ['fe80::1%eth0', 'never'],
    ['fd00:ec2::254', 'never'],
    ['0.0.0.0', 'never'],
    ['::', 'never'],
    ['', 'never'],
    ['localhost', 'never'],
    ['127.1', 'never'],
    ['1.2.3.4.5', 'never'],
    ['256.1.1.1', 'never'],
    ['01.1.1.1', 'never'],
    ['1::2::3', 'never'],
    ['1:2:3:4:5:6:7', 'never'],
    ['1:2:3:4:5:6:7:8:9', 'never'],
    ['::12345', 'never'],
    ['::g', 'never'],
    [':', 'never'],
    ['1:2:3:4:5:6:7::8', 'never'],
  ])('%s is %s', (address, kind) => {
    expect(addressKind(address)).toBe(kind);
  });

  test.each<[Reach, string, boolean]>([
    ['internet', '127.0.0.1', false],
    ['internet', '10.0.0.1', false],
    ['internet', '169.254.169.254', false],
    ['loopback', '127.0.0.1', true],
    ['loopback', '10.0.0.1', false],
    ['loopback', '169.254.169.254', false],
    ['internal', '127.0.0.1', true],
    ['internal', '169.254.169.254', false],
    ['internal', '0.0.0.0', false],
    ['internal', '100.100.100.200', false],
  ])('with reach %s, %s is %s', async (reach, host, reached) => {
    const canary = await startCanary();
    const reason = await reasonOf(outboundWith(), `http://${host}:${canary.port}/`, {
      policy: { ...ANYWHERE, reach },
      timeoutMs: 1000,
    });
    // Without a route to 10.0.0.1 a permitted address shows as unreachable; a refused one never does.
    expect(reason === 200).toBe(reached);
    if (!reached) expect(reason).toBe('refused_address');
  });
});

describe('resolved names', () => {
  test.each<[string, string[][]]>([
    ['inside', [['127.0.0.1']]],
    ['several, all inside', [['10.0.0.1', '127.0.0.1', '::1']]],
    ['a mapped address', [['::ffff:127.0.0.1']]],
    ['a link-local address with a zone', [['fe80::1%lo']]],
    ['nothing', [[]]],
    ['first outside of the registries, then inside', [['203.0.113.1'], ['127.0.0.1']]],
  ])('a name that resolves to %s is refused, each time', async (_name, answers) => {
    const canary = await startCanary();
    const resolve = resolvingTo(...answers);
    const outbound = outboundWith(resolve);
    for (let time = 0; time < 3; time++) {
      expect(await reasonOf(outbound, `http://inside.example:${canary.port}/`, { policy: ANYWHERE })).toBe(
        'refused_address',
      );
    }
    expect(resolve.calls).toBe(3);
    expect(canary.connections()).toBe(0);
  });

  test('a resolver that changes its answer is queried once, and the first answer counts', async () => {
    const canary = await startCanary();
    const { url } = await serve((_request, response) => response.end('{}'));
    const port = Number(new URL(url).port);
    const resolve = resolvingTo(['127.0.0.1'], ['10.0.0.1']);
    const policy: Policy = { ...ANYWHERE, reach: 'loopback' };
    const outbound = outboundWith(resolve);
    expect(await reasonOf(outbound, `http://rebinding.example:${port}/`, { policy })).toBe(200);
    expect(resolve.calls).toBe(1);
    // Another origin, so another connection: the name is now inside.
    expect(await reasonOf(outbound, `http://rebinding.example:${canary.port}/`, { policy })).toBe('refused_address');
    expect(canary.connections()).toBe(0);
  });

  test('only the external addresses of a mixed answer are tried', async () => {
    const canary = await startCanary();
    const outbound = outboundWith(resolvingTo(['127.0.0.1', '192.0.2.1', '8.8.8.8']));
    const reason = await reasonOf(outbound, `http://mixed.example:${canary.port}/`, {
      policy: ANYWHERE,
      timeoutMs: 400,
    });
    expect(['timeout', 'unreachable']).toContain(reason);
    expect(canary.connections()).toBe(0);
  });

  test('a connection kept by a wide policy is not lent to a narrow one', async () => {
    const { url, requests } = await serve((_request, response) => response.end('{}'));
    const outbound = outboundWith();
    expect(await reasonOf(outbound, url)).toBe(200);
    expect(await reasonOf(outbound, url, { policy: ANYWHERE })).toBe('refused_address');
    expect(requests).toHaveLength(1);
  });

  test('an unknown name is unreachable', async () => {
    const resolve: Resolve = (_name, _options, callback) =>
      callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    expect(await reasonOf(outboundWith(resolve), 'http://nobody.example/')).toBe('unreachable');
  });
});

describe('URLs', () => {
  const refused: [string, Policy][] = [
    ['', INTERNET_POLICY],
    ['example.com', INTERNET_POLICY],
    ['//example.com/', INTERNET_POLICY],
    ['ftp://example.com/', OPERATOR_POLICY],
    ['file:///etc/passwd', OPERATOR_POLICY],
    ['data:application/json,{}', OPERATOR_POLICY],
    ['javascript:alert(1)', OPERATOR_POLICY],
    ['gopher://example.com/', OPERATOR_POLICY],
    ['https://user@example.com/', OPERATOR_POLICY],
    ['https://user:secret@example.com/', OPERATOR_POLICY],
    ['https://:secret@example.com/', OPERATOR_POLICY],
    ['http://example.com/', INTERNET_POLICY],
    ['https://example.com:8443/', INTERNET_POLICY],
    ['https://example.com:80/', INTERNET_POLICY],
    ['https:///', INTERNET_POLICY],
    ['https://exa mple.com/', INTERNET_POLICY],
    [`https://example.com/${'x'.repeat(2048)}`, INTERNET_POLICY],
    ['https://[::1', INTERNET_POLICY],
    ['https://1.2.3.4.5/', INTERNET_POLICY],
  ];
  test.each(refused)('the URL %s is refused', (url, policy) => {
    expect(() => readTarget(url, policy)).toThrow(expect.objectContaining({ reason: 'refused_url' }));
  });

  test('https with its own port is accepted, also when written out', () => {
    expect(readTarget('https://example.com/a?b', INTERNET_POLICY).reach).toBe('internet');
    expect(readTarget('https://example.com:443/', INTERNET_POLICY).reach).toBe('internet');
  });

  test('a listed origin may be internal, and its neighbors may not', () => {
    const policy = { ...INTERNET_POLICY, trustedOrigins: new Set(['http://10.0.0.5:8080']) };
    expect(readTarget('http://10.0.0.5:8080/items', policy).reach).toBe('internal');
    for (const url of ['http://10.0.0.5:8081/', 'http://10.0.0.5/', 'http://10.0.0.5:8080.example.com/']) {
      expect(() => readTarget(url, policy)).toThrow(OutboundError);
    }
    expect(readTarget('https://10.0.0.5/', policy).reach).toBe('internet');
    expect(() => readTarget('http://u:p@10.0.0.5:8080/', policy)).toThrow(OutboundError);
  });
});
