import { randomBytes } from 'node:crypto';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { systemClock } from '../../src/base/clock.ts';
import { keepLocalKey } from '../../src/identity/api-keys.ts';
import { openLocalIssuer } from '../../src/identity/local-issuer.ts';
import type { Database } from '../../src/persistence/database.ts';
import { type RunningService, startService } from '../cli/harness.ts';
import { insertType } from '../delivery/rows.ts';
import { call } from '../grpc/support.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type Otlp, startOtlp } from '../support/otlp.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';

/** What a traced call causes elsewhere: on a PostgreSQL, in the thread of deliveries, at a mail server, a push service and an upstream. */
const ADMIN = 'admin@example.com';
const hex = (bytes: number) => randomBytes(bytes).toString('hex');

let otlp: Otlp;
let storage: TestStorage;
let database: Database;
let smtp: SmtpSink;
let push: PushService;
let service: RunningService;
let edge: RunningService;
let authorization: string;

beforeAll(async () => {
  [otlp, storage, smtp, push] = await Promise.all([
    startOtlp(),
    createStorage('postgresql'),
    startSmtp(),
    startPushService(),
  ]);
  // Of its own traces the service samples none: what it sends was asked for.
  const env = { ...otlp.env, OTEL_TRACES_SAMPLER: 'parentbased_always_off', SHUTDOWN_NOTICE_MS: '0' };
  database = await storage.open();
  service = await startService({ ...env, DATABASE_URL: storage.url ?? '', PUSH_ALLOWED_HOSTS: push.host });
  edge = await startService({ ...env, DATA_DIR: service.dataDir, UPSTREAM_ADDRESS: service.grpc });
  const issuer = await openLocalIssuer({ dataDir: service.dataDir, clock: systemClock });
  authorization = `Bearer ${await issuer.sign(ADMIN)}`;
}, 180_000);
afterAll(async () => {
  await edge?.remove();
  await service?.remove();
  await Promise.all([otlp?.close(), smtp?.close(), push?.close()]);
  await storage?.remove();
}, 60_000);

async function request(method: string, path: string, body: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(`${service.url}${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  return text === '' ? undefined : (JSON.parse(text) as any);
}

/** A trace, as a caller begins it. */
function newTrace(flags = '01') {
  const traceId = hex(16);
  return { traceId, traceparent: `00-${traceId}-${hex(8)}-${flags}` };
}

const attemptsSeries = (channel: string): string => `usher_delivery_seconds_count{channel="${channel}"} `;

async function deliveryMetrics(): Promise<string[]> {
  const answer = await fetch(`${service.url}/metrics`, { headers: { accept: 'application/openmetrics-text' } });
  return (await answer.text()).split('\n').filter((line) => line.startsWith('usher_delivery_seconds'));
}

async function attempts(channel: string): Promise<number> {
  const line = (await deliveryMetrics()).find((one) => one.startsWith(attemptsSeries(channel)));
  return Number(line?.slice(attemptsSeries(channel).length));
}

/** The traces that the buckets of a channel name. */
async function exemplarsOf(channel: string): Promise<string[]> {
  const ofChannel = (await deliveryMetrics()).filter((line) => line.includes(`channel="${channel}"`));
  return ofChannel.flatMap((line) => /# \{trace_id="(\w+)"\}/.exec(line)?.[1] ?? []);
}

/** The thread of deliveries tells of its attempts a little later. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  const late = AbortSignal.timeout(10_000);
  while (!(await condition())) {
    late.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('a traced send', () => {
  beforeAll(async () => {
    const { data } = await request('GET', '/api/admin/brands', undefined);
    const brand = data.find(({ isDefault }: { isDefault: boolean }) => isDefault);
    const server = { host: '127.0.0.1', port: smtp.port, secure: false };
    await request('PUT', `/api/admin/brands/${brand.id}`, { emailFrom: 'news@example.com', smtp: server });
    const { app, type } = await insertType(database, 'gazette');
    await database.change(async (tx) => {
      await sql`
        insert into template (application_id, notification_type_id, locale, subject, html)
        values (${app}, ${type}, 'en', 'News', '<p>There is news.</p>')`.execute(tx.kysely);
      return { result: null, scopes: [] };
    });
    const key = await request('GET', '/api/profile/me/push/vapid-key', undefined);
    const subscription = push.browser('admin', key.data.vapidPublicKey);
    await request('POST', '/api/profile/me/push/subscribe', { subscription, deviceLabel: 'Test' });
  }, 60_000);

  const send = (traceparent: string) => {
    const headers = { traceparent, 'x-internal-api-key': keepLocalKey(service.dataDir, systemClock) };
    const order = { appCode: 'gazette', type: 'news', recipients: [ADMIN] };
    return request('POST', '/api/internal/notifications', order, headers);
  };

  test('goes on in the thread of deliveries, to the mail server and the push service', async () => {
    const { traceId, traceparent } = newTrace();
    await send(traceparent);
    await smtp.next();
    const request = await otlp.find((span) => span.traceId === traceId && span.kind === 2);
    const statements = otlp.spans.filter((span) => span.parentSpanId === request.spanId && span.kind === 3);
    expect(statements.map(({ name }) => name)).toContain('insert delivery');
    for (const [channel, leaf] of [
      ['email', 'smtp send'],
      ['push', 'POST'],
    ]) {
      const delivery = await otlp.find((span) => span.traceId === traceId && span.name === `deliver ${channel}`);
      expect(delivery).toMatchObject({ parentSpanId: request.spanId, kind: 5, status: 0 });
      expect(delivery.attributes).toMatchObject({ 'usher.channel': channel, 'usher.outcome': 'sent' });
      const sent = await otlp.find((span) => span.parentSpanId === delivery.spanId && span.name === leaf);
      expect(sent.kind).toBe(3);
    }
    expect(push.faults).toEqual([]);
    for (const channel of ['email', 'push']) await until(async () => (await exemplarsOf(channel)).includes(traceId));
  });

  test('whose caller does not sample it leaves no span', async () => {
    const { traceId, traceparent } = newTrace('00');
    await send(traceparent);
    await smtp.next();
    expect(otlp.spans.filter((span) => span.traceId === traceId)).toEqual([]);
    await until(async () => (await attempts('email')) === 2);
    expect(await exemplarsOf('email')).not.toContain(traceId);
  });
});

test('what an edge asks of its upstream is one trace', async () => {
  const { traceId, traceparent } = newTrace();
  const client = new Client(edge.grpc, credentials.createInsecure());
  try {
    const question = { email: 'stranger@example.com', app: 'auth', permission: 'users.access' };
    await call(client, 'Check', question, { metadata: { traceparent } });
  } finally {
    client.close();
  }
  const asked = await otlp.find((span) => span.traceId === traceId && span.kind === 3 && span.name.includes('Facts'));
  const answered = await otlp.find((span) => span.parentSpanId === asked.spanId);
  expect(answered).toMatchObject({ name: asked.name, kind: 2 });
  const load = await otlp.find((span) => span.spanId === asked.parentSpanId);
  expect(load.name).toBe('load facts');
});

test('a span that waits is sent when the service ends', async () => {
  expect(otlp.spans.length).toBeGreaterThan(10);
  const slow = await startService({ ...otlp.env, OTEL_BSP_SCHEDULE_DELAY: '600000', SHUTDOWN_NOTICE_MS: '0' });
  const { traceId, traceparent } = newTrace();
  await fetch(`${slow.url}/api/nothing`, { headers: { traceparent } });
  expect(otlp.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  expect(await slow.stop()).toBe(0);
  await slow.remove();
  const span = await otlp.find((one) => one.traceId === traceId);
  expect(span.name).toBe('GET unmatched');
});
