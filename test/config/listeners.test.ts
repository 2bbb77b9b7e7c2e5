import { describe, expect, test } from '@jest/globals';
import { ConfigError, everyListenerIsLoopback, toConfig } from '../../src/config/config.ts';
import { SURFACES } from '../../src/config/listeners.ts';

type Entry = Record<string, unknown>;

const ISSUER = {
  AUTH_ISSUER: 'https://idp.example.com',
  AUTH_AUDIENCE: 'usher',
  INTERNAL_API_KEY: 'a:check:a-key-of-24-letters-or-more',
};

function problems(listeners: unknown, file: Record<string, unknown> = {}, env: Record<string, string> = {}): string[] {
  try {
    toConfig({ env, file: { ...file, listeners } });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.faults.map(({ key, problem }) => `${key}: ${problem.replace(/; for example .*/, '')}`);
  }
}
const refused = (entry: Entry, file?: Record<string, unknown>): string[] => problems([entry], file);
const http = (...addresses: string[]): Entry => ({ for: 'http', addresses });

describe('further listeners', () => {
  test('an entry has addresses of IPv4, IPv6 and names, UNIX sockets, TLS, surfaces and a mode', () => {
    const file = {
      listeners: [
        {
          ...http('10.0.0.5:8443', '[fd00::1]:8443', '[::]:8444', 'usher.internal:0'),
          tls: { cert: '/c', key: '/k', clientCa: '/a' },
          serves: ['webhooks'],
        },
        { ...http('unix:/run/usher/http.sock'), socketMode: '0600', trustProxy: true },
        { for: 'grpc', addresses: ['unix:/run/usher/grpc.sock'] },
      ],
    };
    const expected = [
      {
        for: 'http',
        addresses: [
          { host: '10.0.0.5', port: 8443 },
          { host: 'fd00::1', port: 8443 },
          { host: '::', port: 8444, ipv6Only: true },
          { host: 'usher.internal', port: 0 },
        ],
        tls: { cert: '/c', key: '/k', clientCa: '/a' },
        serves: ['webhooks'],
        trustProxy: false,
      },
      {
        for: 'http',
        addresses: [{ path: '/run/usher/http.sock', mode: 0o600 }],
        tls: null,
        serves: [...SURFACES],
        trustProxy: true,
      },
      {
        for: 'grpc',
        addresses: [{ path: '/run/usher/grpc.sock', mode: 0o660 }],
        tls: null,
        serves: [...SURFACES],
        trustProxy: false,
      },
    ];
    expect(toConfig({ env: ISSUER, file }).listeners).toEqual(expected);
    const env = { ...ISSUER, USHER_LISTENERS: JSON.stringify(file.listeners) };
    expect(toConfig({ env }).listeners).toEqual(expected);
  });

  test('a wrong entry is refused by its place, the value and the rule', () => {
    const path = `unix:/${'x'.repeat(103)}`;
    const cases: [unknown, string][] = [
      ['http', 'must be a list of listeners'],
      [[], 'is an empty list: leave it out, or name at least one'],
      [['x'], '"x" must be a map with for and addresses'],
      [[{}], '[0].for is required'],
      [[{ for: 'http' }], '[0].addresses is required'],
      [[{ for: 'smtp', addresses: ['a:1'] }], '[0].for "smtp" must be http, grpc or ops'],
      [[{ for: 'http', addresses: [] }], '[0].addresses is an empty list'],
      [[http('a:1'), http('b:2', 'c')], '[1].addresses[1] "c" must be host:port, [IPv6]:port or unix:/path'],
      [[http('a:70000')], '[0].addresses[0] "a:70000" must be host:port, [IPv6]:port or unix:/path'],
      [[http('::1:80')], '[0].addresses[0] "::1:80" must be host:port, [IPv6]:port or unix:/path'],
      [[http('unix:relative')], '[0].addresses[0] "unix:relative" must be host:port, [IPv6]:port or unix:/path'],
      [[http('unix:/a\0b')], '[0].addresses[0] "unix:/a\\u0000b" must be host:port, [IPv6]:port or unix:/path'],
      [[http(path)], `[0].addresses[0] "${path}" has a path of more than 103 bytes`],
      [
        [{ ...http('a:1'), port: 1 }],
        '[0] has no key port; its keys are for, addresses, tls, serves, trustProxy, socketMode',
      ],
      [[{ ...http('a:1'), tls: { cert: '/c' } }], '[0].tls.key is required'],
      [
        [{ ...http('a:1'), tls: { cert: '/c', key: '/k', ca: '/a' } }],
        '[0].tls has no key ca; its keys are cert, key, clientCa',
      ],
      [[{ ...http('a:1'), serves: ['api'] }], `[0].serves[0] "api" must be one of ${SURFACES.join(', ')}, not "api"`],
      [
        [{ ...http('unix:/a'), socketMode: 660 }],
        "[0].socketMode 660 must be one of '0600', '0660', '0666', in quotes",
      ],
      [[{ ...http('a:1'), socketMode: '0660' }], '[0].socketMode is for unix:/path only'],
      [
        [{ ...http('a:1', 'unix:/a'), tls: { cert: '/c', key: '/k' } }],
        '[0].tls is not for a UNIX socket, which the permissions of its file protect: give it an entry of its own',
      ],
      [[{ for: 'grpc', addresses: ['a:1'], serves: ['people'] }], '[0].serves is for http only'],
      [[{ for: 'ops', addresses: ['a:1'], trustProxy: true }], '[0].trustProxy is for http only'],
    ];
    for (const [listeners, problem] of cases) {
      expect(problems(listeners, {}, ISSUER)).toEqual([`listeners: ${problem}`]);
    }
    expect(problems(undefined, {}, { ...ISSUER, USHER_LISTENERS: '{"for"' })).toEqual([
      'listeners: must be a list of listeners',
    ]);
  });

  test('an address that this process has already is refused, of whichever listener', () => {
    const file = { http: { port: 8081 }, grpc: { port: 50_052 }, ops: { port: 9091 } };
    const taken = (entry: Entry) => refused(entry, file);
    expect(taken(http('127.0.0.1:8081'))).toEqual(['listeners: [0].addresses[0] is the address of http.port already']);
    expect(taken({ for: 'ops', addresses: ['127.0.0.1:50052'] })).toEqual([
      'listeners: [0].addresses[0] is the address of grpc.port already',
    ]);
    expect(taken(http('unix:/a', 'unix:/a'))).toEqual([
      'listeners: [0].addresses[1] is the address of listeners[0].addresses[0] already',
    ]);
    expect(taken(http('127.0.0.1:0', '127.0.0.1:0'))).toEqual([]);
    // One that this process does not open takes nothing.
    expect(refused(http('127.0.0.1:50052'), { ...file, roles: ['gateway'] })).toEqual([]);
  });

  test('what another key must be for it is a fault of that key', () => {
    const grpc = { for: 'grpc', addresses: ['unix:/a'] };
    expect(refused(grpc, { grpc: { front: false } })).toEqual([
      'grpc.front: must be true with listeners[0], which is for grpc',
    ]);
    expect(refused(grpc, { grpc: { processes: 2 }, database: { url: 'postgresql://u@h/d' } })).toEqual([
      'grpc.processes: must be 1 with listeners[0], which has a UNIX socket for grpc',
    ]);
    expect(refused({ for: 'ops', addresses: ['unix:/a'] })).toEqual([
      'ops.port: is required with listeners[0], which is for ops',
    ]);
  });

  test('a panel whose pages cannot ask is refused, at the first listener too', () => {
    const problem = 'has panel without people and administration, which its pages need';
    expect(refused({ ...http('127.0.0.1:1'), serves: ['panel'] })).toEqual([`listeners: [0].serves ${problem}`]);
    expect(problems(undefined, { http: { serves: ['panel'] } })).toEqual([`http.serves: ${problem}`]);
    expect(problems(undefined, { http: { serves: 'people,administration,panel' } })).toEqual([]);
  });
});

describe('what is for loopback alone', () => {
  test.each(['http', 'grpc', 'ops'])('counts every %s listener, each of its addresses', (kind) => {
    const file = { ops: { port: 9090 } };
    const local = ['127.0.0.1:0', '[::1]:0', 'localhost:0'];
    expect(refused({ for: kind, addresses: local }, file)).toEqual([]);
    for (const open of ['0.0.0.0:0', '[::]:0', '10.0.0.5:0', 'usher.internal:0']) {
      const keys = refused({ for: kind, addresses: [...local, open] }, file).map((problem) => problem.split(':')[0]);
      expect([open, keys]).toEqual([
        open,
        expect.arrayContaining(['internal.apiKeys', 'auth.issuer', 'auth.audience']),
      ]);
    }
  });

  test('a UNIX socket is of this machine', () => {
    expect(refused(http('unix:/run/usher.sock'))).toEqual([]);
  });

  test('a listener that an edge does not open does not count', () => {
    const of = (kind: string) =>
      everyListenerIsLoopback(
        toConfig({
          env: ISSUER,
          file: { upstream: { address: 'localhost:1' }, listeners: [{ for: kind, addresses: ['10.0.0.5:1'] }] },
        }),
      );
    expect([of('http'), of('grpc')]).toEqual([true, false]);
  });
});
