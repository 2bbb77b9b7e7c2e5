/** One hostile input a call, for each surface of the service, from one seeded source. */
import { createHmac } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { create, toBinary, toJsonString } from '@bufbuild/protobuf';
import type { Route } from '../../../src/gateway/route/route.ts';
import {
  BulkCheckRequestSchema,
  CheckRequestSchema,
  EffectiveRequestSchema,
} from '../../../src/gen/usher/permission/v1/permission_pb.ts';
import { framed } from '../../grpc/support.ts';
import { pick, type Random } from '../../oracle/world.ts';
import { fitting, junkText, KNOWN, type Schema, spoiled, text } from './values.ts';

/** Who the fuzzer can be; what each of them must never read back. */
export interface Credentials {
  readonly apiKey: string;
  readonly webhookSecret: string;
  readonly signingKey: string;
  readonly admin: string;
  readonly user: string;
}

export interface HttpInput {
  readonly surface: string;
  readonly bytes: Buffer;
  readonly bodiless: boolean;
}

type Header = readonly [name: string, value: string];

const SERVICE = '/usher.permission.v1.PermissionService';
const QUESTION = { email: 'ann@example.com', app: 'shop', permission: 'orders.read' };
const RPC_MEDIA = ['application/json', 'application/proto', 'application/grpc-web', 'application/grpc-web+json'];

/** A header's value as one line: what would end it is for the raw inputs. */
function line(value: string): string {
  return Array.from(value)
    .map((character) => character.codePointAt(0) ?? 0)
    .map((code) => (code < 32 || code === 127 || code > 255 ? '?' : String.fromCharCode(code)))
    .join('');
}

function request(
  surface: string,
  method: string,
  target: string,
  headers: readonly Header[],
  body: Buffer | null,
): HttpInput {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: x',
    ...headers.map(([name, value]) => `${name}: ${line(value)}`),
  ];
  if (body !== null) lines.push(`Content-Length: ${body.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return { surface, bytes: body === null ? head : Buffer.concat([head, body]), bodiless: method === 'HEAD' };
}

/** In a request's target as HTTP's parser lets through. */
function segment(value: string): string {
  return /^[!-~]*$/.test(value) ? value.replaceAll(/[ #]/g, '%20') : encodeURIComponent(value.toWellFormed());
}

function bearer(random: Random, { admin, user }: Credentials): Header[] {
  const token = random(12) === 0 ? pick(random, ['x.y.z', '']) : pick(random, [admin, admin, admin, user]);
  if (random(12) > 0) return [['Authorization', `Bearer ${token}`]];
  const at = random(token.length + 1);
  const changed = `${token.slice(0, at)}${pick(random, ['A', '.', '=', ''])}${token.slice(at + 1)}`;
  return pick(random, [
    [['Authorization', `Bearer ${changed}`]],
    [['Authorization', `Bearer  ${token}  x`]],
    [['Authorization', `Basic ${Buffer.from('a:b').toString('base64')}`]],
    [
      ['Authorization', `Bearer ${token}`],
      ['Authorization', 'Bearer other'],
    ],
    [],
  ] as Header[][]);
}

function key(random: Random, { apiKey }: Credentials): Header[] {
  if (random(8) > 0) return [['x-internal-api-key', apiKey]];
  return [
    ['x-internal-api-key', pick(random, [`${apiKey}x`, apiKey.slice(1), '', `${apiKey},${apiKey}`, junkText(random)])],
  ];
}

const ODD_HEADERS: readonly string[] = [
  'If-Match',
  'Accept',
  'Accept-Language',
  'Origin',
  'X-Request-Id',
  'usher-min-revision',
  'Expect',
  'Range',
  'X-Forwarded-Host',
  'X-Forwarded-For',
  'X-HTTP-Method-Override',
  'Cookie',
  'Last-Event-ID',
  'Transfer',
  'Upgrade-Insecure-Requests',
];

function oddHeaders(random: Random): Header[] {
  if (random(4) > 0) return [];
  if (random(30) === 0) return Array.from({ length: 60 + random(80) }, (_, index) => [`x-${index}`, 'a'] as const);
  if (random(60) === 0) return [['x-long', 'a'.repeat(pick(random, [8000, 15_000, 17_000]))]];
  return Array.from({ length: 1 + random(3) }, () => [pick(random, ODD_HEADERS), junkText(random)] as const);
}

function contentType(random: Random, usual: string): Header[] {
  if (random(10) > 0) return [['Content-Type', usual]];
  const odd = [
    'text/plain',
    'application/json; charset=utf-16',
    'application/json;;',
    'multipart/form-data',
    '',
    'a/b/c',
  ];
  const types: Header[] = [['Content-Type', pick(random, odd)]];
  if (random(2) === 0) types.push(['Content-Encoding', pick(random, ['gzip', 'br', 'identity', 'x'])]);
  return types;
}

function query(random: Random, names: readonly string[]): string {
  if (random(3) > 0) return '';
  const all = Array.from({ length: 1 + random(3) }, () => {
    const name = pick(random, ['limit', 'cursor', 'q', 'appCode', 'token', 'dryRun', 'unreadOnly', ...names, 'zzz']);
    return `${name}=${segment(random(2) === 0 ? junkText(random) : text(random))}`;
  });
  return `?${all.join('&')}`;
}

/** A call of a route: mostly one that its schemas take, in somebody's name. */
export function ofRoute(random: Random, routes: readonly Route[], who: Credentials): HttpInput {
  const route = pick(random, routes);
  const path = route.path.replaceAll(/:\w+/g, (name) => {
    if (random(5) === 0) return segment(junkText(random));
    // Never the fuzzer's own SuperAdmin: once blocked, the fuzzer could do nothing.
    if (name === ':email') return segment(pick(random, KNOWN.emails.slice(1)));
    return segment(
      pick(random, /id$/i.test(name) && name !== ':resourceId' ? KNOWN.ids : [...KNOWN.codes, ...KNOWN.ids]),
    );
  });
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];
  const method = random(12) === 0 ? pick(random, methods) : route.method.toUpperCase();
  const media = route.body?.media[0];
  const schema = route.body === null || media === undefined ? null : (route.body.describe(media) as Schema);
  const made = route.example.body !== undefined && random(4) === 0 ? route.example.body : fitting(random, schema ?? {});
  const body = method === 'GET' || method === 'HEAD' ? null : spoiled(random, Buffer.from(JSON.stringify(made) ?? ''));
  const headers = [
    ...(route.guard.scheme === 'bearer' ? bearer(random, who) : []),
    ...(route.guard.scheme === 'internalKey' ? key(random, who) : []),
    ...(body === null ? [] : contentType(random, media ?? 'application/json')),
    ...oddHeaders(random),
  ];
  return request(`${route.method} ${route.path}`, method, path + query(random, []), headers, body);
}

/** A call of the webhook, whose caller knows the secret or does not. */
export function ofWebhook(random: Random, { webhookSecret }: Credentials): HttpInput {
  const event = {
    eventType: pick(random, ['user.created', 'user.updated', 'user.deactivated', 'user.reactivated', text(random)]),
    orgId: text(random),
    user: {
      email: random(8) === 0 ? junkText(random) : pick(random, ['hooked@example.com', 'nobody@example.com']),
      firstName: text(random),
      lastName: text(random),
    },
    ...(random(3) === 0 ? { occurredAt: text(random), eventId: text(random) } : {}),
  };
  const secret = random(6) === 0 ? junkText(random) : webhookSecret;
  const body = spoiled(random, Buffer.from(JSON.stringify(random(8) === 0 ? fitting(random, {}) : event)));
  const headers: Header[] = [
    ['X-Webhook-Secret', secret],
    ...contentType(random, 'application/json'),
    ...oddHeaders(random),
  ];
  return request('webhook', 'POST', '/api/idp/webhook', headers, body);
}

/** A call of the e-mail endpoint, signed over whatever it holds, or badly. */
export function ofMailEndpoint(random: Random, { signingKey }: Credentials): HttpInput {
  const mail = {
    contextInfo: {
      eventType: pick(random, ['user.human.password.code.added', 'user.domain.claimed', text(random)]),
      recipientEmailAddress: random(4) === 0 ? text(random) : 'ann@example.com',
    },
    templateData: random(2) === 0 ? fitting(random, { type: 'object' }) : { subject: text(random), url: text(random) },
    args: { orgID: random(3) > 0 ? '1' : text(random), code: text(random) },
  };
  const body = spoiled(random, Buffer.from(JSON.stringify(mail)));
  const t = Math.floor(Date.now() / 1000) + pick(random, [0, 0, 0, 0, 299, -299, 400, -400]);
  const v1 = createHmac('sha256', signingKey).update(`${t}.`).update(body).digest('hex');
  const good = `t=${t},v1=${v1}`;
  const at = random(good.length);
  const bad = [`${good.slice(0, at)}0${good.slice(at + 1)}`, junkText(random), `t=${t}`, `v1=${v1}`, `${good},${good}`];
  const headers: Header[] = [
    ['IDP-Signature', random(4) === 0 ? pick(random, bad) : good],
    ...contentType(random, 'application/json'),
    ...oddHeaders(random),
  ];
  return request('e-mail endpoint', 'POST', '/api/idp/notifications/email', headers, body);
}

export function ofUnsubscribe(random: Random): HttpInput {
  const token = pick(random, [
    `1.1.${'A'.repeat(43)}`,
    `${'9'.repeat(16)}.1.${'A'.repeat(43)}`,
    junkText(random),
    '1.1.',
  ]);
  const method = pick(random, ['GET', 'POST', 'HEAD']);
  const body = method === 'POST' ? spoiled(random, Buffer.from('List-Unsubscribe=One-Click')) : null;
  const type = contentType(random, pick(random, ['application/x-www-form-urlencoded', 'multipart/form-data']));
  const target = `/api/notifications/unsubscribe?token=${segment(token)}`;
  return request('unsubscribe', method, target, [...(body === null ? [] : type), ...oddHeaders(random)], body);
}

export function ofStream(random: Random, who: Credentials): HttpInput {
  const headers: Header[] = [...bearer(random, who), ['Last-Event-ID', random(2) === 0 ? junkText(random) : '1']];
  return request('stream', 'GET', '/api/profile/me/notifications/stream', [...headers, ...oddHeaders(random)], null);
}

/** A protobuf message: one that fits with some of it spoiled, or bytes. */
export function message(random: Random): Buffer {
  const schema = pick(random, [CheckRequestSchema, CheckRequestSchema, EffectiveRequestSchema, BulkCheckRequestSchema]);
  const fields = { ...QUESTION, resourceType: '', resourceId: '' };
  for (const name of Object.keys(fields) as (keyof typeof fields)[]) {
    if (random(6) === 0) fields[name] = junkText(random).toWellFormed();
  }
  const bytes = Buffer.from(
    toBinary(schema as typeof CheckRequestSchema, create(schema as typeof CheckRequestSchema, fields)),
  );
  switch (random(8)) {
    case 0:
      return Buffer.from(Array.from({ length: random(60) }, () => random(256)));
    case 1:
      return bytes.subarray(0, random(bytes.length + 1));
    case 2:
      bytes[random(bytes.length)] = random(256);
      return bytes;
    case 3:
      return Buffer.concat([bytes, Buffer.from([0x7a, 3, 1, 2, 3])]);
    default:
      return bytes;
  }
}

/** A Connect or gRPC-Web call. */
export function ofRpc(random: Random, who: Credentials): HttpInput {
  const method = pick(random, [
    'Check',
    'BulkCheck',
    'Effective',
    random(20) === 0 ? segment(junkText(random)) : 'Check',
  ]);
  const media = pick(random, RPC_MEDIA);
  const json = media.endsWith('json');
  const fields =
    random(3) === 0
      ? fitting(random, { type: 'object' })
      : JSON.parse(toJsonString(CheckRequestSchema, create(CheckRequestSchema, QUESTION)));
  const payload = json ? spoiled(random, Buffer.from(JSON.stringify(fields))) : message(random);
  const body =
    media.includes('grpc-web') && random(8) > 0 ? framed(payload, random(8) === 0 ? random(256) : 0) : payload;
  const more: Header[] =
    random(5) === 0
      ? [
          [
            pick(random, ['connect-timeout-ms', 'grpc-timeout', 'grpc-encoding', 'connect-protocol-version']),
            junkText(random),
          ],
        ]
      : [];
  const headers = [...key(random, who), ...contentType(random, media), ...more, ...oddHeaders(random)];
  return request(`RPC ${media}`, 'POST', `${SERVICE}/${method}`, headers, body);
}

export interface GrpcInput {
  readonly path: string;
  readonly body: Buffer | null;
  readonly headers: Record<string, string | string[] | undefined>;
}

/** A gRPC call over HTTP/2 that no library would make. */
export function ofGrpc(random: Random, { apiKey }: Credentials): GrpcInput {
  const methods = [`${SERVICE}/Check`, `${SERVICE}/BulkCheck`, `${SERVICE}/Effective`, '/grpc.health.v1.Health/Check'];
  const path = random(20) === 0 ? `/${segment(junkText(random))}` : pick(random, methods);
  const headers: Record<string, string | string[] | undefined> = { 'x-internal-api-key': apiKey };
  if (random(16) === 0) headers['x-internal-api-key'] = undefined;
  if (random(16) === 0) headers['x-internal-api-key'] = pick(random, [`${apiKey}0`, [apiKey, apiKey], '']);
  if (random(10) === 0) headers['grpc-timeout'] = pick(random, ['0n', '1H', '99999999S', 'soon', '-1S', '1n', '100u']);
  if (random(10) === 0) headers['content-type'] = pick(random, ['application/json', 'application/grpc+json', 'x']);
  if (random(30) === 0) headers['content-type'] = undefined;
  if (random(20) === 0) headers.te = undefined;
  if (random(20) === 0) headers['x-junk'] = line(junkText(random)).slice(0, 6000);
  if (random(20) === 0) headers['x-junk-bin'] = pick(random, ['AAAA', '!!!', '']);
  if (random(20) === 0) headers['x-request-id'] = line(junkText(random));
  const payload = message(random);
  let body: Buffer | null = framed(payload);
  switch (random(12)) {
    case 0:
      headers['grpc-encoding'] = pick(random, ['gzip', 'deflate', 'br', 'identity', '']);
      body = framed(random(2) === 0 ? gzipSync(payload) : payload, 1);
      break;
    case 1:
      body = framed(payload, random(256));
      break;
    case 2:
      body = body.subarray(0, random(body.length));
      break;
    case 3:
      body.writeUInt32BE(pick(random, [0, 1, 2 ** 20, 2 ** 31, 2 ** 32 - 1]), 1);
      break;
    case 4:
      body = Buffer.concat([body, framed(message(random))]);
      break;
    case 5:
      body = null;
      break;
  }
  return { path, body, headers };
}

/** Bytes to a connection of HTTP/1: smuggling, chunks, lines without an end, invalid paths and methods. */
export function rawHttp(random: Random, who: Credentials): Buffer {
  const body = JSON.stringify(QUESTION);
  const auth = `x-internal-api-key: ${who.apiKey}\r\n`;
  const head = `POST /api/check HTTP/1.1\r\nHost: x\r\n${auth}Content-Type: application/json\r\n`;
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const made = pick(random, [
    () => `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}`,
    () => `${head}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n${chunk}`,
    () => `${head}Transfer-Encoding: xchunked\r\n\r\n${chunk}`,
    () => `${head}Transfer-Encoding: chunked, identity\r\n\r\n${chunk}`,
    () => `${head}Content-Length: 5\r\nContent-Length: 6\r\n\r\n${body}`,
    () =>
      `${head}Content-Length: ${pick(random, ['-1', '+5', '0x10', '1e3', '99999999999999999999', ' 5 5'])}\r\n\r\n${body}`,
    () =>
      `${head}Transfer-Encoding: chunked\r\n\r\n${pick(random, ['ffffffffffffffff', '-1', 'g', '', '1;a=b'])}\r\n${body}`,
    () => `${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n"\r\n0\r\nx-trailer: a\r\n\r\n`,
    () =>
      `${pick(random, ['GET', 'get', 'G\u0000T', '', 'X'.repeat(5000), 'PRI'])} ${pick(random, ['/', '*', '//', '/\\', 'http://[', '/%', 'a:b', '/../..'])} HTTP/${pick(random, ['1.1', '1.0', '2.0', '9.9', '1.1 x', ''])}\r\nHost: x\r\n\r\n`,
    () => `GET /api/check HTTP/1.1\r\n${junkText(random)}: ${junkText(random)}\r\nHost: x\r\n\r\n`,
    () => `GET / HTTP/1.1\nHost: x\n\n`,
    () => `GET / HTTP/1.1\r\nHost: x\r\n folded: a\r\n\r\n`,
    () =>
      `GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
    () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    () => `CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`,
    () => `GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(1 + random(20)),
    () => `\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003${junkText(random)}`,
    () => `GET / HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(random(3000))}`,
  ])();
  const bytes = Buffer.from(made, 'latin1');
  if (random(3) === 0) for (let n = 1 + random(3); n > 0; n--) bytes[random(bytes.length)] = random(256);
  return random(5) === 0 ? bytes.subarray(0, random(bytes.length + 1)) : bytes;
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Frames of HTTP/2, of every type, in any order, with whatever in them. */
export function rawFrames(random: Random): Buffer {
  const frames = [random(10) === 0 ? Buffer.from(junkText(random)) : PREFACE, frame(4, 0, 0, Buffer.alloc(0))];
  // :method POST, :scheme http, :path / by the static table.
  const headers = Buffer.from([0x83, 0x86, 0x84]);
  for (let n = 1 + random(12); n > 0; n--) {
    const stream = pick(random, [0, 1, 3, 5, 2, 2 ** 31 - 1]);
    const payload = random(3) === 0 ? headers : Buffer.from(Array.from({ length: random(40) }, () => random(256)));
    frames.push(frame(random(6) === 0 ? random(256) : random(10), random(256), stream, payload));
    if (random(8) === 0) frames.push(frame(6, 0, 0, Buffer.alloc(8)), frame(3, 0, 1, Buffer.alloc(4)));
  }
  const bytes = Buffer.concat(frames);
  if (random(4) === 0) bytes[random(bytes.length)] = random(256);
  return bytes;
}
