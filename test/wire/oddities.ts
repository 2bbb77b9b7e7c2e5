/** What can be odd about a call, by name. */
import { gzipSync } from 'node:zlib';
import { SERVICE } from '../grpc/support.ts';
import { pick, type Random } from '../oracle/world.ts';
import type { Names, WireCall } from './calls.ts';
import { message, NOTHING } from './frames.ts';
import type { Field } from './hpack.ts';

type Change = (call: WireCall, random: Random, names: Names) => void;

const MIB = 1024 * 1024;

function set(call: WireCall, name: string, value: string): void {
  const at = call.fields.findIndex((field) => field[0] === name);
  if (at === -1) call.fields.push([name, value]);
  else call.fields[at] = [name, value];
}

function remove(call: WireCall, name: string): void {
  call.fields = call.fields.filter((field) => field[0] !== name);
}

function add(call: WireCall, ...fields: Field[]): void {
  call.fields.push(...fields);
}

/** The message without its prefix. */
function payload(call: WireCall): Buffer {
  return call.body.subarray(5);
}

const CONTENT_TYPES = [
  'application/grpc+proto',
  'application/grpc+json',
  'application/grpc;charset=utf-8',
  'application/grpc-web',
  'application/grpcx',
  'Application/grpc',
  'application/json',
  'text/plain',
  '',
  ' application/grpc',
];
const PATHS = [
  '/',
  '/x',
  '//',
  `/${SERVICE}/Nothing`,
  `/${SERVICE}/check`,
  `/${SERVICE}/Check/`,
  `/${SERVICE}/Check?a=b`,
  `//${SERVICE}/Check`,
  `/${SERVICE}%2fCheck`,
  `/${SERVICE}`,
  '/usher.permission.v2.PermissionService/Check',
  '/constructor',
  '/__proto__/toString',
  `/${'x'.repeat(500)}`,
  '/\u00e9',
  '/a b',
];
const LONG = [
  '1H',
  '99999999H',
  '10M',
  '30S',
  '30000m',
  '30000000u',
  '99999999n0S',
  '+30S',
  '30 S',
  '1.30S',
  '-30S',
  '30SS',
];
const PAST = ['0H', '0M', '0S', '0m', '0u', '0n', '1n', '1u'];
const MALFORMED = ['', 'soon', '1', '1x', 'S', '1s', '1h', '0x1f', '²S', 'NaN'];
const REQUEST_IDS = ['', 'short', 'a'.repeat(300), 'a b c d e f', 'caf\u00e9-1234', 'x'.repeat(128), 'a,b', '../../x'];
/** Without control characters: grpc-js drops such a header, and the front refuses its call. */
const ODD_VALUES = ['caf\u00e9', ' a', 'a ', '', 'x'.repeat(2000), 'null', '%00'];

/** Headers that the whole stack answers in one way, whatever the message. */
export const HEADS: Readonly<Record<string, Change>> = {
  'content-type': (call, random) => set(call, 'content-type', pick(random, CONTENT_TYPES)),
  'no content-type': (call) => remove(call, 'content-type'),
  'content-type twice': (call, random) => add(call, ['content-type', pick(random, CONTENT_TYPES)]),
  'no te': (call) => remove(call, 'te'),
  'te twice': (call) => add(call, ['te', 'trailers']),
  path: (call, random) => set(call, ':path', pick(random, PATHS)),
  method: (call, random) => set(call, ':method', pick(random, ['GET', 'PUT', 'post', 'HEAD', 'OPTIONS', 'X'])),
  scheme: (call) => set(call, ':scheme', 'https'),
  host: (call) => add(call, ['host', 'elsewhere']),
  'no authority but a host': (call) => {
    remove(call, ':authority');
    add(call, ['host', 'usher.test']);
  },
  'no key': (call) => remove(call, 'x-internal-api-key'),
  'wrong key': (call, random, { key }) =>
    set(call, 'x-internal-api-key', pick(random, ['', 'guess', `${key}x`, key.slice(1), `${key},${key}`, ` ${key}`])),
  'key twice': (call, random, { key }) => add(call, ['x-internal-api-key', pick(random, [key, '', 'guess'])]),
  'key in a -bin header': (call, _random, { key }) => {
    remove(call, 'x-internal-api-key');
    add(call, ['x-internal-api-key-bin', Buffer.from(key).toString('base64')]);
  },
  'long deadline': (call, random) => add(call, ['grpc-timeout', pick(random, LONG)]),
  'past deadline': (call, random) => {
    add(call, ['grpc-timeout', pick(random, PAST)]);
    call.certain = false;
  },
  'malformed deadline': (call, random) => add(call, ['grpc-timeout', pick(random, MALFORMED)]),
  'deadline twice': (call, random) =>
    add(call, ['grpc-timeout', pick(random, LONG)], ['grpc-timeout', pick(random, LONG)]),
  'request id': (call, random) => set(call, 'x-request-id', pick(random, REQUEST_IDS)),
  'no request id': (call) => remove(call, 'x-request-id'),
  'request id twice': (call) => add(call, ['x-request-id', 'request-again']),
  metadata: (call, random) => add(call, [`x-${random(100)}`, pick(random, ODD_VALUES)]),
  'metadata twice': (call, random) => add(call, ['x-a', pick(random, ODD_VALUES)], ['x-a', pick(random, ODD_VALUES)]),
  'much metadata': (call, random) => {
    for (let n = random(100); n > 0; n--) add(call, [`x-${n}`, 'v'.repeat(random(60))]);
  },
  'binary metadata': (call, random) =>
    add(call, ['trace-bin', pick(random, ['AAEC', 'AAE', '!!!', '', 'AA==,AA==', '='])]),
  'odd names': (call, random) => add(call, [pick(random, ['a b', 'a!', '', 'a.b', '_', 'grpc-x', 'é']), 'v']),
  tracing: (call) => add(call, ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01']),
  cookies: (call) => add(call, ['cookie', 'a=b'], ['cookie', 'c=d']),
  'accepted encodings': (call, random) =>
    add(call, ['grpc-accept-encoding', pick(random, ['gzip', 'identity', 'x,y', ''])]),
  health: (call) => {
    set(call, ':path', '/grpc.health.v1.Health/Check');
    call.body = message(NOTHING);
  },
  'health of another service': (call) => {
    set(call, ':path', '/grpc.health.v1.Health/Check');
    call.body = message(Buffer.from([10, 1, 97]));
  },
};

/** Messages and what is around them. */
export const BODIES: Readonly<Record<string, Change>> = {
  'no message': (call, random) => {
    call.body = NOTHING;
    call.ending = pick(random, ['empty data', 'headers', 'trailers']);
  },
  'empty message': (call) => {
    call.body = message(NOTHING);
  },
  'two messages': (call) => {
    call.body = Buffer.concat([call.body, call.body]);
  },
  'three messages': (call) => {
    call.body = Buffer.concat([call.body, message(NOTHING), call.body]);
  },
  'stray bytes': (call, random) => {
    call.body = Buffer.concat([call.body, Buffer.alloc(1 + random(12), random(2))]);
  },
  'cut off': (call, random) => {
    call.body = call.body.subarray(0, random(call.body.length));
  },
  'length too long': (call, random) => {
    call.body = message(payload(call), 0, payload(call).length + 1 + random(MIB / 2));
  },
  'length too short': (call, random) => {
    call.body = message(payload(call), 0, random(payload(call).length));
  },
  'length beyond the limit': (call, random) => {
    call.body = message(payload(call), 0, pick(random, [MIB + 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]));
  },
  'compressed flag': (call, random) => {
    call.body = message(payload(call), 1 + random(255));
  },
  'compressed flag and encoding': (call, random) => {
    add(call, ['grpc-encoding', pick(random, ['identity', 'gzip', 'deflate', 'br', 'GZIP', ''])]);
    call.body = message(payload(call), random(3));
  },
  gzip: (call) => {
    add(call, ['grpc-encoding', 'gzip']);
    call.body = message(gzipSync(payload(call)), 1);
  },
  'malformed protobuf': (call, random) => {
    const bytes = Buffer.from(payload(call));
    for (let n = 1 + random(3); n > 0; n--) if (bytes.length > 0) bytes[random(bytes.length)] = random(256);
    call.body = message(bytes.subarray(0, random(4) === 0 ? random(bytes.length + 1) : bytes.length));
  },
  'unknown field': (call) => {
    call.body = message(Buffer.concat([payload(call), Buffer.from([0x7a, 3, 1, 2, 3])]));
  },
  'long message': (call, random) => {
    call.body = message(Buffer.concat([Buffer.alloc(2 * random(10_000), Buffer.from([0x1a, 0])), payload(call)]));
  },
};

/** The stream itself. */
export const SHAPES: Readonly<Record<string, Change>> = {
  'content-length': (call) => add(call, ['content-length', String(call.body.length)]),
  trailers: (call) => {
    call.ending = 'trailers';
    call.trailers = [['x-trailer', 'a']];
  },
  cancelled: (call) => {
    call.ending = 'reset';
    call.certain = false;
  },
  'never ended': (call) => {
    call.ending = 'never';
  },
  'trailers with a pseudo-header': (call) => {
    call.ending = 'trailers';
    call.trailers = [[':path', '/']];
  },
  'upper-case name': (call) => add(call, ['X-Upper', 'a']),
  'connection header': (call, random) =>
    add(call, [
      pick(random, ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']),
      'close',
    ]),
  'te other than trailers': (call) => set(call, 'te', 'gzip'),
  'no pseudo-header': (call, random) => remove(call, pick(random, [':method', ':path', ':scheme', ':authority'])),
  'pseudo-header twice': (call, random) => {
    const field = pick(random, call.fields.slice(0, 4));
    call.fields.unshift(field);
  },
  'unknown pseudo-header': (call, random) => {
    call.fields.unshift([pick(random, [':status', ':foo', ':protocol', ':']), '200']);
  },
  'pseudo-header after a field': (call) => {
    call.fields.push(...call.fields.splice(0, 1));
  },
  'empty path': (call, random) => set(call, ':path', pick(random, ['', 'Check', '*'])),
  'content-length that is none': (call, random) => add(call, ['content-length', pick(random, ['x', '-1', '', '1e3'])]),
  'too many fields': (call) => {
    for (let n = 0; n < 200; n++) add(call, [`x-${n}`, 'v']);
  },
};
