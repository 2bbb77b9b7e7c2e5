import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { create, toBinary } from '@bufbuild/protobuf';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CheckRequestSchema } from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { type RunningService, startService } from '../cli/harness.ts';
import { call } from '../grpc/support.ts';
import { type Otlp, type ReceivedSpan, startOtlp } from '../support/otlp.ts';

/**
 * A service as an operator starts it with OpenTelemetry's SDK (examples/tracing), and a receiver that reads what it sends.
 * `always_on` would sample each root: what is missing then was never begun.
 */
const CHECK = 'usher.permission.v1.PermissionService/Check';
const WATCH = '/usher.permission.v1.PermissionService/Watch';
const hex = (bytes: number) => randomBytes(bytes).toString('hex');
/** A caller's trace. */
const trace = (flags = '01') => {
  const [traceId, spanId] = [hex(16), hex(8)];
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
};

let otlp: Otlp;
let service: RunningService;
let client: Client;
let output = '';
let people = 0;

beforeAll(async () => {
  otlp = await startOtlp();
  service = await startService(
    { ...otlp.env, OTEL_TRACES_SAMPLER: 'parentbased_always_on', GRPC_FRONT: process.env.GRPC_FRONT ?? 'true' },
    {
      onOutput: (text) => {
        output += text;
      },
    },
  );
  client = new Client(service.grpc, credentials.createInsecure());
}, 180_000);
afterAll(async () => {
  client?.close();
  await service?.remove();
  await otlp?.close();
}, 60_000);

/** A question about somebody whom nobody has asked about. */
const stranger = () => ({ email: `stranger-${people++}@example.com`, app: 'auth', permission: 'users.access' });
const ask = (
  question: ReturnType<typeof stranger> & { resourceType?: string },
  metadata: Record<string, string> = {},
) => call(client, 'Check', question, { metadata });
/** Every span of a trace that has begun by now: another one, sent behind it, has arrived. */
async function spansOf(traceId: string): Promise<ReceivedSpan[]> {
  const last = trace();
  await ask(stranger(), { traceparent: last.traceparent });
  await otlp.find((span) => span.traceId === last.traceId && span.name === CHECK);
  return otlp.spans.filter((span) => span.traceId === traceId);
}

describe('calls of the gRPC port', () => {
  test('a call that waits is a span of its caller, and what it waited for are spans of it', async () => {
    const { traceId, spanId, traceparent } = trace();
    await ask(stranger(), { traceparent, tracestate: 'vendor=1' });
    const span = await otlp.find((one) => one.traceId === traceId && one.name === CHECK);
    expect(span).toMatchObject({ parentSpanId: spanId, kind: 2, status: 0 });
    expect(span.attributes).toEqual({ 'rpc.system.name': 'grpc', 'rpc.method': CHECK, 'rpc.status_code': 'OK' });
    const load = await otlp.find((one) => one.traceId === traceId && one.name === 'load facts');
    expect(load.parentSpanId).toBe(span.spanId);
    const statement = await otlp.find((one) => one.parentSpanId === load.spanId && one.kind === 3);
    expect(statement.name).toMatch(/^usher_(members|policy)$/);
    expect(statement.attributes).toMatchObject({ 'db.system.name': 'postgresql', 'db.query.summary': statement.name });
  });

  test('an answer from memory is a span where its caller samples the trace, and only there', async () => {
    const question = stranger();
    const [sampled, unsampled] = [trace(), trace('00')];
    for (let i = 0; i < 2; i++) await ask(question, { traceparent: unsampled.traceparent });
    await ask(question, { traceparent: sampled.traceparent });
    const begun = otlp.spans.filter(({ parentSpanId, name }) => parentSpanId === '' && name === CHECK).length;
    await ask(question);
    const spans = await spansOf(sampled.traceId);
    expect(spans.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([[CHECK, sampled.spanId]]);
    expect(otlp.spans.filter((span) => span.traceId === unsampled.traceId)).toEqual([]);
    expect(otlp.spans.filter(({ parentSpanId, name }) => parentSpanId === '' && name === CHECK).length).toBe(begun);
  });

  test('a call that waits begins a trace where its caller brings none', async () => {
    const before = otlp.spans.length;
    await ask(stranger());
    await otlp.find((span) => span.name === CHECK && span.parentSpanId === '' && otlp.spans.indexOf(span) >= before);
  });

  test('a caller that does not sample is not sampled, also where its call waits', async () => {
    const { traceId, traceparent } = trace('00');
    await ask(stranger(), { traceparent });
    expect(await spansOf(traceId)).toEqual([]);
  });

  test('a call that grpc-js answers has its statement as a span', async () => {
    const { traceId, spanId, traceparent } = trace();
    await call(client, 'Explain', { check: stranger() }, { metadata: { traceparent } });
    const span = await otlp.find((one) => one.traceId === traceId && one.name.endsWith('/Explain'));
    expect(span.parentSpanId).toBe(spanId);
    const statement = await otlp.find((one) => one.parentSpanId === span.spanId && one.kind === 3);
    expect(statement.name).toBe('usher_grounds');
  });

  test('a refused call has its status, and is no fault of the service', async () => {
    const { traceId, traceparent } = trace();
    await expect(ask({ ...stranger(), resourceType: 'invoice' }, { traceparent })).rejects.toMatchObject({ code: 3 });
    const span = await otlp.find((one) => one.traceId === traceId);
    expect([span.status, span.attributes['rpc.status_code']]).toEqual([0, 'INVALID_ARGUMENT']);
  });

  test('a call whose key is refused has no span, and neither has a stream', async () => {
    const [called, streamed] = [trace(), trace()];
    const refused = ({ traceparent }: typeof called): Metadata => {
      const metadata = new Metadata();
      metadata.add('traceparent', traceparent);
      for (const key of ['one', 'two']) metadata.add('x-internal-api-key', key);
      return metadata;
    };
    await expect(send(stranger(), refused(called))).rejects.toMatchObject({ code: 16 });
    const same = (message: Buffer): Buffer => message;
    const stream = client.makeServerStreamRequest(WATCH, same, same, Buffer.alloc(0), refused(streamed));
    await expect(once(stream.resume(), 'end')).rejects.toMatchObject({ code: 16 });
    expect(await spansOf(called.traceId)).toEqual([]);
    expect(await spansOf(streamed.traceId)).toEqual([]);
  });

  test('questions that share a statement are linked with it', async () => {
    const question = stranger();
    const traces = Array.from({ length: 3 }, () => trace());
    await Promise.all(traces.map(({ traceparent }) => ask(question, { traceparent })));
    const ids = traces.map(({ traceId }) => traceId);
    const load = await otlp.find(({ name, traceId }) => name === 'load facts' && ids.includes(traceId));
    const calls = await Promise.all(ids.map((id) => otlp.find((one) => one.traceId === id && one.name === CHECK)));
    const others = calls.filter(({ traceId }) => traceId !== load.traceId);
    for (const other of others) expect(other.links).toMatchObject([{ traceId: load.traceId }]);
  });
});

describe('headers that are no trace', () => {
  const id = hex(16);
  test.each([
    ['zeros', `00-${'0'.repeat(32)}-${hex(8)}-01`],
    ['a span of zeros', `00-${id}-${'0'.repeat(16)}-01`],
    ['capitals', `00-${id.toUpperCase().replace(/\d/g, 'A')}-${hex(8)}-01`],
    ['the forbidden version', `ff-${id}-${hex(8)}-01`],
    ['too many characters', `00-${id}-${hex(8)}-01-${'a'.repeat(4000)}`],
    ['words', 'sampled=true'],
  ])('%s are ignored, and the call is answered', async (_, traceparent) => {
    const before = otlp.spans.length;
    await ask(stranger(), { traceparent });
    const span = await otlp.find((one) => otlp.spans.indexOf(one) >= before && one.name === CHECK);
    expect(span.parentSpanId).toBe('');
  });

  test('a state of 8,000 characters is dropped, and the trace goes on', async () => {
    const { traceId, spanId, traceparent } = trace();
    await ask(stranger(), { traceparent, tracestate: `vendor=${'x'.repeat(8000)}` });
    const span = await otlp.find((one) => one.traceId === traceId && one.name === CHECK);
    expect(span.parentSpanId).toBe(spanId);
    expect(span.text).not.toContain('xxxx');
  });

  test('two headers are none, and a thousand harm nobody', async () => {
    const question = stranger();
    const [first, second] = [trace(), trace()];
    const metadata = new Metadata();
    for (const { traceparent } of [first, second]) metadata.add('traceparent', traceparent);
    await send(question, metadata);
    expect(await spansOf(first.traceId)).toEqual([]);
    expect(await spansOf(second.traceId)).toEqual([]);
    const many = new Metadata();
    for (let i = 0; i < 1000; i++) many.add('traceparent', trace().traceparent);
    await expect(send(question, many)).rejects.toMatchObject({ details: expect.any(String) });
    await ask(question);
  });
});

/** A Check with metadata as it is. */
async function send(question: ReturnType<typeof stranger>, metadata: Metadata): Promise<void> {
  const bytes = Buffer.from(toBinary(CheckRequestSchema, create(CheckRequestSchema, question)));
  const same = (message: Buffer): Buffer => message;
  await new Promise<void>((resolve, reject) => {
    client.makeUnaryRequest(`/${CHECK}`, same, same, bytes, metadata, (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}

describe('requests of the gateway', () => {
  const request = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
    fetch(`${service.url}${path}`, init);

  test('a request is a span of its caller, named by its route; its log line has both ids', async () => {
    const { traceId, spanId, traceparent } = trace();
    const email = 'private@example.com';
    const answer = await request(`/api/users/${email}`, { headers: { traceparent } });
    expect(answer.status).toBe(401);
    const span = await otlp.find((one) => one.traceId === traceId);
    expect(span).toMatchObject({ name: 'GET /api/users/:email', parentSpanId: spanId, kind: 2 });
    expect(span.attributes).toEqual({
      'http.request.method': 'GET',
      'url.scheme': 'http',
      'http.route': '/api/users/:email',
      'http.response.status_code': 401,
    });
    const line = output.split('\n').find((text) => text.includes(traceId));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ msg: 'request', trace_id: traceId, span_id: span.spanId });
  });

  test('a check over REST waits for the same load as one over gRPC', async () => {
    const { traceId, traceparent } = trace();
    const headers = { traceparent, 'content-type': 'application/json' };
    const answer = await request('/api/check', { method: 'POST', headers, body: JSON.stringify(stranger()) });
    expect(answer.status).toBe(200);
    const load = await otlp.find((one) => one.traceId === traceId && one.name === 'load facts');
    const span = await otlp.find((one) => one.spanId === load.parentSpanId);
    expect(span.name).toBe('POST /api/check');
  });

  test('a call of Connect says which method it was', async () => {
    const { traceId, traceparent } = trace();
    const headers = { traceparent, 'content-type': 'application/json' };
    await request(`/${CHECK}`, { method: 'POST', headers, body: JSON.stringify(stranger()) });
    const span = await otlp.find((one) => one.traceId === traceId && one.kind === 2);
    expect(span.attributes).toMatchObject({ 'rpc.system.name': 'connectrpc', 'rpc.method': CHECK });
  });

  test('probes begin no traces', async () => {
    const { traceId, traceparent } = trace();
    await request('/readyz', { headers: { traceparent } });
    await request('/metrics');
    expect(await spansOf(traceId)).toEqual([]);
    expect(otlp.spans.filter(({ name }) => /readyz|metrics/.test(name))).toEqual([]);
  });
});

test('no span holds an address or a value', () => {
  expect(otlp.spans.length).toBeGreaterThan(20);
  expect(otlp.spans.filter(({ text }) => text.includes('@example.com') || text.includes('stranger'))).toEqual([]);
});
