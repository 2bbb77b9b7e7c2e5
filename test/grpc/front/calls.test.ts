import { describe, expect, test } from '@jest/globals';
import { type KnownHead, knownHead, readHead, repeatedHead } from '#http2-front/head';
import { judge, Verdict } from '#http2-front/other-calls';
import type { Field } from '../../wire/hpack.ts';

const PATH = '/usher.permission.v1.PermissionService/Check';
const OTHER = '/grpc.health.v1.Health/Watch';
const USUAL: readonly Field[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', PATH],
  [':authority', 'usher.test:50051'],
  ['te', 'trailers'],
  ['content-type', 'application/grpc'],
];

const listOf = (fields: readonly Field[]) => ({
  names: fields.map(([name]) => name),
  values: fields.map(([, value]) => value),
  tooLong: false,
  repeated: false,
});
const trace = (digit: string) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;
const CHECK = { index: 0, handle: () => Buffer.alloc(0), authorize: () => undefined, many: false };
const head = (fields: readonly Field[]) => readHead(listOf(fields), (path) => (path === PATH ? CHECK : undefined));
const SERVED = new Map([PATH, OTHER].map((path) => [path, CHECK]));
const verdict = (fields: readonly Field[]) => judge(listOf(fields), SERVED);
/** The usual fields with one changed, or without it. */
const but = (name: string, value: string | null): Field[] =>
  value === null
    ? USUAL.filter(([other]) => other !== name)
    : USUAL.map(([other, usual]): Field => [other, other === name ? value : usual]);
const and = (...fields: Field[]): Field[] => [...USUAL, ...fields];

describe('calls that the front answers', () => {
  test('a usual call is answered, with its key, deadline and request id', () => {
    expect(head(USUAL)).toEqual({
      method: CHECK,
      caller: { key: undefined, requestId: undefined, several: false, admission: undefined },
      timeoutMs: Number.POSITIVE_INFINITY,
      contentLength: -1,
    });
    const fields: Field[] = [
      ['x-internal-api-key', 'secret'],
      ['grpc-timeout', '500m'],
      ['x-request-id', 'abcdefgh'],
      ['user-agent', 'grpc-node/1'],
      ['grpc-accept-encoding', 'identity,gzip'],
      ['trace-bin', 'AAEC'],
      ['content-length', '17'],
    ];
    expect(head(and(...fields))).toEqual({
      method: CHECK,
      caller: { key: 'secret', requestId: 'abcdefgh', several: false, admission: undefined },
      timeoutMs: 500,
      contentLength: 17,
    });
  });

  test.each([
    ['2H', 7_200_000],
    ['3M', 180_000],
    ['4S', 4000],
    ['99999999u', 99_999],
    ['5000000n', 5],
    ['00000007m', 7],
  ])('grpc-timeout %s is %i ms', (text, ms) => {
    expect(head(and(['grpc-timeout', text]))?.timeoutMs).toBe(ms);
  });

  test.each<[string, Field[]]>([
    ['another method', but(':method', 'GET')],
    ['no method', but(':method', null)],
    ['no scheme', but(':scheme', null)],
    ['another path', but(':path', OTHER)],
    ['a path with a query', but(':path', `${PATH}?a=1`)],
    ['no authority', but(':authority', null)],
    ['an odd authority', but(':authority', 'a b')],
    ['another type', but('content-type', 'application/grpc+json')],
    ['no type', but('content-type', null)],
    ['another te', but('te', 'gzip')],
    ['a compressed message', and(['grpc-encoding', 'gzip'])],
    ['a malformed deadline', and(['grpc-timeout', '5'])],
    ['a deadline of nine digits', and(['grpc-timeout', '100000000n'])],
    ['a deadline of no digits', and(['grpc-timeout', 'S'])],
    ['an empty deadline', and(['grpc-timeout', ''])],
    ['a deadline with a sign', and(['grpc-timeout', '+5S'])],
    ['a deadline in another unit', and(['grpc-timeout', '5s'])],
    ['a deadline that has passed', and(['grpc-timeout', '0n'])],
    ['a deadline within less than a millisecond', and(['grpc-timeout', '999u'])],
    ['two deadlines', and(['grpc-timeout', '1S'], ['grpc-timeout', '1S'])],
    ['two keys', and(['x-internal-api-key', 'a'], ['x-internal-api-key', 'b'])],
    ['two keys in one header', and(['x-internal-api-key', 'a,b'])],
    ['a key with a control character', and(['x-internal-api-key', 'a\u0001'])],
    ['two request ids', and(['x-request-id', 'abcdefgh'], ['x-request-id', 'abcdefgh'])],
    ['a name in upper case', and(['User-agent', 'x'])],
    ['an empty name', and(['', 'x'])],
    ['an unknown pseudo-header', and([':status', '200'])],
    ['a pseudo-header after another', [...but(':path', null), ['a', 'b'], [':path', PATH]]],
    ['a pseudo-header twice', and([':path', PATH])],
    ['a value with a line break', and(['a', 'b\r\nc'])],
    ['a value that ends with a space', and(['a', 'b '])],
    ['a value outside ASCII', and(['a', '\u00e9'])],
    ['a connection', and(['connection', 'close'])],
    ['two lengths', and(['content-length', '5'], ['content-length', '5'])],
    ['a length that is no number', and(['content-length', '+5'])],
    ['a length that no number holds', and(['content-length', '9'.repeat(16)])],
    ['cookies', and(['cookie', 'a=b'])],
    ['a host', and(['host', 'a'])],
  ])('a call with %s is not answered here', (_, fields) => {
    expect(head(fields)).toBeNull();
  });

  test('a list that was too long is not answered here', () => {
    expect(readHead({ ...listOf(USUAL), tooLong: true }, () => CHECK)).toBeNull();
  });
});

describe('calls whose headers differ by deadline and trace alone', () => {
  const fields = and(['grpc-timeout', '500m'], ['x-internal-api-key', 'secret'], ['x-request-id', 'abcdefgh']);
  const known = knownHead(head(fields) as KnownHead['head'], listOf(fields)) as KnownHead;
  const repeated = (changed: readonly Field[]) => repeatedHead(known, listOf(changed));
  const change = (name: string, value: string) => fields.map((f): Field => (f[0] === name ? [name, value] : f));

  test('have the same caller and a deadline of their own', () => {
    const again = repeated(change('grpc-timeout', '700m'));
    expect(again).toEqual({ ...known.head, timeoutMs: 700 });
    expect(again?.caller).toBe(known.head.caller);
  });

  test.each<[string, readonly Field[]]>([
    ['another key', change('x-internal-api-key', 'secreu')],
    ['another request id', change('x-request-id', 'abcdefgi')],
    ['another path', change(':path', OTHER)],
    ['another name', fields.map((f): Field => (f[0] === 'x-internal-api-key' ? ['x-internal-api-kez', f[1]] : f))],
    ['one field more', [...fields, ['a', 'b']]],
    ['one field less', fields.slice(0, -1)],
    ['another order', fields.toReversed()],
    ['a malformed deadline', change('grpc-timeout', '5')],
  ])('are not taken for a call with %s', (_, changed) => {
    expect(repeated(changed)).toBeNull();
  });

  test('are not taken for a list that was too long', () => {
    expect(repeatedHead(known, { ...listOf(fields), tooLong: true })).toBeNull();
  });

  test('a trace of its own is read, and every other field compared all the same', () => {
    const traced = [...fields, ['traceparent', trace('1')] as Field];
    const first = knownHead(head(traced) as KnownHead['head'], listOf(traced)) as KnownHead;
    const other = (value: string) => repeatedHead(first, listOf([...fields, ['traceparent', value]]));
    expect(other(trace('2'))).toEqual({ ...first.head, traceparent: trace('2') });
    expect(other(trace('2'))?.caller).toBe(first.head.caller);
    expect(
      repeatedHead(first, listOf([...change('x-internal-api-key', 'secreu'), ['traceparent', trace('2')]])),
    ).toBeNull();
    for (const value of ['', 'words', `${trace('2')}-more`, trace('a').toUpperCase()]) expect(other(value)).toBeNull();
  });

  test('a trace alone is kept, two are not one', () => {
    const [one, two] = [
      and(['traceparent', trace('1')]),
      and(['traceparent', trace('1')], ['traceparent', trace('2')]),
    ];
    expect(knownHead(head(one) as KnownHead['head'], listOf(one))).toMatchObject({ traceAt: 6, timeoutAt: -1 });
    expect(head(one)).toMatchObject({ traceparent: trace('1') });
    expect(head(two)).toMatchObject({ traceparent: undefined });
    expect(knownHead(head(two) as KnownHead['head'], listOf(two))).toBeNull();
    expect(head(and(['traceparent', trace('1')], [':path', PATH]))).toBeNull();
  });

  test('several states are one list', () => {
    expect(head(and(['tracestate', 'a=1'], ['tracestate', 'b=2']))).toMatchObject({ tracestate: 'a=1,b=2' });
  });

  test('a call without a deadline is not kept', () => {
    expect(knownHead(head(USUAL) as KnownHead['head'], listOf(USUAL))).toBeNull();
  });
});

describe('calls that the front does not answer', () => {
  test.each<[string, string, Field[]]>([
    ['of another method of the port', Verdict.PASS, but(':path', OTHER)],
    ['with a header that only grpc-js may judge', Verdict.PASS, and(['grpc-encoding', 'gzip'])],
    ['of a service that is not there', Verdict.UNIMPLEMENTED, but(':path', '/a/b')],
    ['of another type', Verdict.NOT_GRPC, but('content-type', 'application/json')],
    ['without a type', Verdict.NOT_GRPC, but('content-type', null)],
    [
      'of another type and path',
      Verdict.NOT_GRPC,
      but('content-type', 'text/html').map((f): Field => (f[0] === ':path' ? [':path', '/'] : f)),
    ],
    [
      'without a method',
      Verdict.MALFORMED,
      [
        [':path', '/'],
        [':scheme', 'http'],
        [':authority', 'a'],
      ],
    ],
    ['with a relative path', Verdict.MALFORMED, but(':path', 'a')],
    ['with a space in its path', Verdict.MALFORMED, but(':path', '/a b')],
    ['with a path twice', Verdict.MALFORMED, [...but(':path', '/a/b'), [':path', '/a/c']]],
    ['with a name in upper case', Verdict.MALFORMED, [...but(':path', '/a/b'), ['A', 'b']]],
    ['with a header of connections', Verdict.MALFORMED, [...but(':path', '/a/b'), ['connection', 'close']]],
    ['with a length that is no number', Verdict.MALFORMED, and(['content-length', 'x'])],
    ['with two lengths', Verdict.MALFORMED, and(['content-length', '5'], ['content-length', '5'])],
    ['of the port with a header of connections', Verdict.MALFORMED, and(['connection', 'close'])],
    ...['\0', '\t', '\n', '\r', '\x1b', '\x7f'].map((control): [string, string, Field[]] => [
      `with ${JSON.stringify(control)} in a value`,
      Verdict.UNREADABLE,
      and(['x-internal-api-key', `a${control}b`]),
    ]),
  ])('a call %s', (_, expected, fields) => {
    expect(verdict(fields)).toBe(expected);
  });
});
