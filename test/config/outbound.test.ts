import { describe, expect, test } from '@jest/globals';
import { ConfigError, effectiveValues, toConfig } from '../../src/config/config.ts';

function problemsOf(env: Record<string, string>): Record<string, string> {
  try {
    toConfig({ env });
    return {};
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return Object.fromEntries(error.faults.map(({ key, problem }) => [key, problem]));
  }
}

describe('outbound.proxy', () => {
  test.each([
    'http://proxy',
    'http://proxy:3128',
    'http://proxy:3128/',
    'HTTPS://proxy.example.com',
    'http://name@proxy:3128',
    'http://name:@proxy:3128',
    'http://n%C3%A4me:p%40ss%3Aw%2Ford@proxy:3128',
    'http://10.0.0.1:8080',
    'https://[fd00::1]:8080',
  ])('%s is one', (url) => {
    expect(toConfig({ env: { OUTBOUND_PROXY: url } }).outbound.proxy).toBe(url);
  });

  test.each([
    'proxy:3128',
    'http:proxy:3128',
    '//proxy:3128',
    'socks5://canary@proxy:1080',
    'socks://proxy',
    'ftp://proxy',
    'tcp://proxy:3128',
    'http://proxy:3128/path',
    'http://proxy:3128/?query',
    'http://proxy:3128?',
    'http://proxy:3128/#fragment',
    'http://proxy:99999',
    'http://:canary@proxy:3128',
    'http://canary:%zz@proxy:3128',
    'http://canary%3Amore:password@proxy:3128',
    'http://canary%0D%0A:password@proxy:3128',
    'http://canary#:password@proxy:3128',
    'http://',
  ])('%s is none, and is not repeated', (url) => {
    const problems = problemsOf({ OUTBOUND_PROXY: url });
    expect(Object.keys(problems)).toEqual(['outbound.proxy']);
    expect(problems['outbound.proxy']).toMatch(/^must be an http:\/\/ or https:\/\/ URL of host and port alone/);
    expect(JSON.stringify(problems)).not.toContain('canary');
  });

  test('is shown to nobody, may stand in a file, and is none by default', () => {
    const env = { OUTBOUND_PROXY: 'http://name:canary@proxy:3128' };
    const shown = effectiveValues({ env }).find(({ key }) => key === 'outbound.proxy');
    expect(shown).toMatchObject({ value: '***', variable: 'OUTBOUND_PROXY' });
    const secretFiles = new Map([['OUTBOUND_PROXY_FILE', { text: 'http://name:canary@proxy:3128' }]]);
    const fromFile = toConfig({ env: { OUTBOUND_PROXY_FILE: '/run/proxy' }, secretFiles });
    expect(fromFile.outbound.proxy).toBe('http://name:canary@proxy:3128');
    expect(toConfig({ env: {} }).outbound).toEqual({ proxy: null, noProxy: [] });
  });

  test('variables that other programs read are none of ours', () => {
    const url = 'http://proxy:3128';
    const env = { HTTP_PROXY: url, HTTPS_PROXY: url, https_proxy: url, ALL_PROXY: url, NO_PROXY: '*' };
    expect(toConfig({ env }).outbound).toEqual({ proxy: null, noProxy: [] });
  });
});

describe('outbound.noProxy', () => {
  test.each([
    ['idp.internal', 'idp.internal'],
    ['IDP.Internal.', 'idp.internal'],
    ['idp', 'idp'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['.example.com', '.example.com'],
    ['.EXAMPLE.com.', '.example.com'],
    ['10.0.0.1', '10.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['::1', '::1'],
    ['[FD00::0:1]', 'fd00::1'],
  ])('%s is %s', (written, read) => {
    expect(toConfig({ env: { OUTBOUND_NO_PROXY: written } }).outbound.noProxy).toEqual([read]);
    expect(toConfig({ env: {}, file: { outbound: { noProxy: [written] } } }).outbound.noProxy).toEqual([read]);
  });

  test.each([
    '*',
    '*.example.com',
    '.',
    '..example.com',
    '.10.0.0.1',
    '10.0.0.0/8',
    'https://example.com',
    'example.com:443',
    '[::1]:443',
    'example.com/path',
    'user@example.com',
    'exam ple.com',
    'example.com?x',
    '1.2.3.4.5',
  ])('%s names no host', (written) => {
    expect(problemsOf({ OUTBOUND_NO_PROXY: written })).toEqual({
      'outbound.noProxy': expect.stringContaining('must be a host name or an address, or .example.com'),
    });
  });
});
