import http2, { type ClientHttp2Session } from 'node:http2';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import webPush from 'web-push';
import { gatewayRoutes } from '../../../src/gateway/routes.ts';
import { type RunningService, startService, usherProcess } from '../../cli/harness.ts';
import { pick, type Random, seeded } from '../../oracle/world.ts';
import { createStorage, type TestStorage } from '../../support/databases.ts';
import { databaseEnv } from '../../support/postgres.ts';
import { RawConnection, type RawHttpAnswer } from '../../support/raw-http.ts';
import * as surfaces from './surfaces.ts';
import { type Credentials, type HttpInput, ofGrpc, ofRoute } from './surfaces.ts';

/**
 * Hostile bytes at every surface of a service in a process of its own: it lives on, answers no 5xx but those that are documented,
 * and says nothing secret in answers or log. USHER_SEED makes the same inputs again.
 */
const LONG = process.env.USHER_LONG !== undefined;
const MINUTES = process.env.USHER_MINUTES === undefined ? null : Number(process.env.USHER_MINUTES);
const INPUTS = LONG ? 1_000_000 : 20_000;
/** The time for all of them, whatever their number. */
const MOST_MS = LONG ? (MINUTES ?? 120) * 60_000 : 12_000;
const SEED = Number(process.env.USHER_SEED ?? 20_261);
const PROGRESS_MS = 30_000;

const vapid = webPush.generateVAPIDKeys();
const SMTP_PASSWORD = 'canary-smtp-password-77';
const SECRETS = {
  INTERNAL_API_KEY: 'canary-internal-key-0123456789',
  IDP_WEBHOOK_SECRET: 'canary-webhook-secret-0123456789',
  IDP_NOTIFICATION_SIGNING_KEY: 'canary-signing-key-0123456789',
  BRAND_SMTP_KEY: Buffer.from('canary-smtp-key-0123456789abcdef').toString('base64'),
  USHER_SECRET_KEY: Buffer.from('canary-secret-key-0123456789abcd').toString('base64'),
  PUSH_PRIVATE_KEY: vapid.privateKey,
};
/** What only the inside knows: stacks, statements, paths. */
const INSIDE =
  /\bat [^\n]{0,200}\.[tj]s:\d+|node_modules|file:\/\/|\b(?:insert into|update|delete from) [a-z_]+ |kysely/;
/** Answers beyond 499 that the contract has, by the code that says why. */
const DOCUMENTED = new Set(['IDP_NOT_CONFIGURED', 'PANEL_NOT_BUILT', 'LIST_ENDPOINT_FAILED', 'SMTP_FAILED']);
const MANIFEST = `
application: { code: shop, name: Shop }
admins: [ann@example.com]
permissions: [{ code: orders.read, type: tiered }]
roles: [{ code: reader, description: Reads, permissions: { orders.read: view } }]
entities: [{ code: invoice, name: Invoice, description: An invoice, idLabel: Number }]
notificationTypes: [{ code: news, name: News }]
templates: [{ type: news, key: default, locale: en, subject: S, html: "H {{ a }}" }]
`;

let storage: TestStorage;
let service: RunningService;
let who: Credentials;
let secrets: RegExp;
let ports: { rest: number; grpc: number };
/** Lines of the log that must not be. */
const bad: string[] = [];
let over: number | null = null;

/** An error in the log is a 500 or worse; a secret in it is one for everybody who reads logs. */
function readLog(text: string): void {
  if (bad.length > 10) return;
  for (const line of text.split('\n')) {
    if (line.includes('"level":"error"') || line.includes('"level":"fatal"') || secrets?.test(line)) bad.push(line);
  }
}

beforeAll(async () => {
  storage = await createStorage('postgresql');
  const env = { ...SECRETS, ...databaseEnv(storage.url) };
  service = await startService(
    { ...env, PUSH_PUBLIC_KEY: vapid.publicKey, PUSH_SUBJECT: 'mailto:a@b.cz' },
    { onOutput: readLog },
  );
  void service.exited.then((code) => {
    over = code;
  });
  ports = { rest: Number(new URL(service.url).port), grpc: Number(service.grpc.split(':').at(-1)) };
  const token = async (email: string) => (await usherProcess(['token', email], service.env)).stdout.trim();
  const [admin, user] = await Promise.all([token('admin@example.com'), token('ann@example.com')]);
  who = {
    apiKey: SECRETS.INTERNAL_API_KEY,
    webhookSecret: SECRETS.IDP_WEBHOOK_SECRET,
    signingKey: SECRETS.IDP_NOTIFICATION_SIGNING_KEY,
    admin,
    user,
  };
  const as = (path: string, type: string, body: string) =>
    fetch(service.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}`, 'content-type': type },
      body,
    });
  expect((await as('/api/manifests/apply', 'application/yaml', MANIFEST)).status).toBe(200);
  const smtp = { host: '127.0.0.1', port: 9, user: 'relay', password: SMTP_PASSWORD };
  const brand = { slug: 'atelier', name: 'Atelier', emailFrom: 'a@example.com', idpOrgId: '1', smtp };
  expect((await as('/api/admin/brands', 'application/json', JSON.stringify(brand))).status).toBe(201);
  const hidden = [...Object.values(SECRETS), SMTP_PASSWORD, admin.split('.')[2] ?? '', user.split('.')[2] ?? ''];
  secrets = new RegExp(hidden.map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'));
});
afterAll(async () => {
  await service?.remove();
  await storage?.remove();
});

interface Tally {
  inputs: number;
  wrong: string[];
  /** Answers by surface, then by status. */
  readonly seen: Map<string, Map<string, number>>;
}

function note({ seen }: Tally, surface: string, status: string): void {
  const statuses = seen.get(surface) ?? new Map<string, number>();
  seen.set(surface, statuses.set(status, (statuses.get(status) ?? 0) + 1));
}

function judge(tally: Tally, { surface, bytes }: HttpInput, { status, head, body }: RawHttpAnswer): void {
  note(tally, surface, String(status));
  const wrong = (why: string) =>
    tally.wrong.push(
      `${why}: ${bytes.toString('latin1').slice(0, 600)}\n→ ${status} ${head.slice(0, 300)} ${body.slice(0, 600)}`,
    );
  if (status === 0 && head !== '') wrong('half an answer');
  // Connect's own words: 501 for a compression that a server does not take, 504 for a caller who waits no millisecond.
  const connect =
    (status === 501 && body.startsWith('{"code":"unimplemented","message":"unknown compression')) ||
    (status === 504 && body.startsWith('{"code":"deadline_exceeded"') && bytes.includes('connect-timeout-ms: 0'));
  // HEAD has no body that could say which: that of trouble elsewhere has a status of its own.
  const documented = bytes.subarray(0, 5).toString('latin1') === 'HEAD ' ? status !== 500 : isDocumented(body);
  if (status >= 500 && !connect && !documented) wrong('5xx');
  if (secrets.test(head) || secrets.test(body)) wrong('a secret');
  if (status >= 400 && INSIDE.test(body)) wrong('the inside');
}

function isDocumented(body: string): boolean {
  try {
    return DOCUMENTED.has((JSON.parse(body) as { details?: { code?: string } }).details?.code ?? '');
  } catch {
    return false;
  }
}

/** Requests that are whole, so that each gets its answer, one after the other on a connection. */
function httpLane(random: Random, routes: ReturnType<typeof gatewayRoutes>): Lane {
  const connection = new RawConnection(ports.rest);
  const kinds = [
    () => ofRoute(random, routes, who),
    () => ofRoute(random, routes, who),
    () => ofRoute(random, routes, who),
    () => surfaces.ofRpc(random, who),
    () => surfaces.ofRpc(random, who),
    () => surfaces.ofWebhook(random, who),
    () => surfaces.ofMailEndpoint(random, who),
    () => (random(4) === 0 ? surfaces.ofStream(random, who) : surfaces.ofUnsubscribe(random)),
  ];
  return {
    async step(tally) {
      const input = pick(random, kinds)();
      judge(tally, input, await connection.send(input.bytes, input));
      tally.inputs++;
    },
    close: () => connection.close(),
  };
}

interface Lane {
  step(tally: Tally): Promise<void>;
  close(): void;
}

/** Statuses of gRPC that would be our fault: UNKNOWN, INTERNAL (but for what grpc-js itself refuses to read), UNAVAILABLE. */
const OURS = new Set(['2', '14']);
const BATCH = 50;

/** Calls over HTTP/2, many at once on a connection. */
function grpcLane(random: Random): Lane {
  let session: ClientHttp2Session | undefined;
  const call = ({ path, body, headers }: surfaces.GrpcInput): Promise<string> => {
    if (session === undefined || session.destroyed || session.closed) {
      session = http2.connect(`http://127.0.0.1:${ports.grpc}`).on('error', () => undefined);
    }
    const usual = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
    const all = Object.entries({ ...usual, ...headers }).filter(([, value]) => value !== undefined);
    const { promise, resolve } = Promise.withResolvers<string>();
    let told = '';
    const stream = session.request(Object.fromEntries(all));
    const read = (received: object): void => {
      told += JSON.stringify(received);
    };
    stream
      .on('response', read)
      .on('trailers', read)
      .on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => {
      told += chunk.toString('latin1');
    });
    stream.on('close', () => resolve(told));
    if (body === null) stream.end();
    else stream.end(body);
    return promise;
  };
  return {
    async step(tally) {
      await Promise.all(
        Array.from({ length: BATCH }, async () => {
          const input = ofGrpc(random, who);
          const told = await call(input);
          const status = /"grpc-status":"(\d+)"/.exec(told)?.[1] ?? 'none';
          note(tally, 'gRPC', status);
          // Health is read by grpc-js, which calls INTERNAL what it cannot read; ours are read by our own codec.
          const ours = input.path.includes('PermissionService/');
          const readable =
            ours && input.headers['grpc-encoding'] === undefined && input.headers['grpc-timeout'] === undefined;
          const body = input.body?.toString('hex') ?? 'none';
          const wrong = (why: string) =>
            tally.wrong.push(`${why}: gRPC ${JSON.stringify(input.headers)} ${body} → ${told}`);
          if (OURS.has(status)) wrong(`status ${status}`);
          if (status === '13' && readable && input.body !== null && input.body[0] === 0 && isWhole(input.body))
            wrong('INTERNAL');
          if (secrets.test(told) || INSIDE.test(told)) wrong('the inside');
          tally.inputs++;
        }),
      );
    },
    close: () => session?.destroy(),
  };
}

function isWhole(body: Buffer): boolean {
  return body.length >= 5 && body.readUInt32BE(1) === body.length - 5;
}

/** Bytes that may be no request at all, on a connection of their own, in pieces. */
function rawLane(random: Random): Lane {
  return {
    async step(tally) {
      const frames = random(2) === 0;
      const [surface, port] = frames ? ['frames', ports.grpc] : ['raw HTTP', ports.rest];
      const bytes = frames ? surfaces.rawFrames(random) : surfaces.rawHttp(random, who);
      const said = await exchanged(port, bytes, 1 + random(3));
      note(tally, surface, /^HTTP\/1\.1 (\d+)/.exec(said)?.[1] ?? (said === '' ? 'closed' : 'frames'));
      const wrong = (why: string) =>
        tally.wrong.push(`${why}: ${bytes.toString('latin1').slice(0, 600)}\n→ ${said.slice(0, 900)}`);
      if (/^HTTP\/1\.1 5/m.test(said) && !said.startsWith('HTTP/1.1 505')) wrong('5xx');
      if (secrets.test(said) || INSIDE.test(said)) wrong('the inside');
      tally.inputs++;
    },
    close: () => undefined,
  };
}

/** All that comes back until the other side ends it, or is silent for a moment. */
function exchanged(port: number, bytes: Buffer, pieces: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let said = '';
  const socket = net.connect(port, '127.0.0.1');
  const done = (): void => {
    socket.destroy();
    resolve(said);
  };
  let silence = setTimeout(done, 300);
  socket.setEncoding('latin1').on('data', (text: string) => {
    said += text;
    clearTimeout(silence);
    silence = setTimeout(done, 30);
  });
  socket.on('error', done).on('close', done).on('end', done);
  const size = Math.ceil(bytes.length / pieces);
  for (let at = 0; at < bytes.length; at += size) socket.write(bytes.subarray(at, at + size));
  return promise.finally(() => clearTimeout(silence));
}

describe('arbitrary bytes over the wire', () => {
  test(
    'arbitrary bytes leave the service alive, cause no undocumented error, and reveal no secret',
    async () => {
      const tally: Tally = { inputs: 0, wrong: [], seen: new Map() };
      const routes = gatewayRoutes({ production: false });
      const random = (lane: number) => seeded(SEED * 100 + lane);
      const lanes = [
        ...Array.from({ length: 8 }, (_, index) => httpLane(random(index), routes)),
        ...Array.from({ length: 2 }, (_, index) => grpcLane(random(10 + index))),
        ...Array.from({ length: 6 }, (_, index) => rawLane(random(20 + index))),
      ];
      const begun = performance.now();
      let told = begun;
      const tell = (): void => {
        if (!LONG || performance.now() - told < PROGRESS_MS) return;
        told = performance.now();
        const seconds = Math.round((told - begun) / 1000);
        process.stderr.write(`${tally.inputs} inputs in ${seconds} s, ${tally.wrong.length} wrong\n`);
      };
      const isOver = (): boolean =>
        tally.inputs >= INPUTS || tally.wrong.length > 10 || over !== null || performance.now() - begun > MOST_MS;
      await Promise.all(
        lanes.map(async (lane) => {
          while (!isOver()) {
            await lane.step(tally);
            tell();
          }
          lane.close();
        }),
      );
      if (LONG) process.stderr.write(`${tally.inputs} inputs, seed ${SEED}: ${JSON.stringify(summary(tally))}\n`);
      expect(tally.wrong).toEqual([]);
      expect(over).toBeNull();
      expect(bad).toEqual([]);
      // Each surface was reached, and let some of it through: what refuses everything proves little.
      expect([...tally.seen.keys()]).toEqual(
        expect.arrayContaining(['webhook', 'e-mail endpoint', 'gRPC', 'frames', 'raw HTTP']),
      );
      expect(tally.inputs).toBeGreaterThan(1500);
      const question = { email: 'admin@example.com', app: 'shop', permission: 'orders.read' };
      const answer = await fetch(`${service.url}/api/check`, {
        method: 'POST',
        headers: { 'x-internal-api-key': who.apiKey, 'content-type': 'application/json' },
        body: JSON.stringify(question),
      });
      expect(await answer.json()).toEqual({ success: true, data: { allowed: true } });
    },
    MOST_MS + 60_000,
  );
});

/** By surface, all routes in one. */
function summary({ seen }: Tally): Record<string, Record<string, number>> {
  const all: Record<string, Record<string, number>> = {};
  for (const [surface, statuses] of seen) {
    const name = surface.includes(' /') ? 'routes' : surface;
    const sums = all[name] ?? {};
    all[name] = sums;
    for (const [status, count] of statuses) sums[status] = (sums[status] ?? 0) + count;
  }
  return all;
}
