import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { context, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import type { Logger } from '../../src/base/telemetry.ts';
import type { Outbound, Policy } from '../../src/outbound/outbound.ts';
import { type Otlp, startOtlp } from '../support/otlp.ts';

/** Requests that leave, with the SDK in this process, registered before the service's code is loaded. */
const received: IncomingHttpHeaders[] = [];
const server = createServer((request, response) => {
  received.push(request.headers);
  response.writeHead(request.url?.startsWith('/away') ? 503 : 200).end();
});
let otlp: Otlp;
let sdk: NodeSDK;
let outbound: Outbound;
let operator: Policy;
let log: Logger;
let logged = '';
let url: string;

beforeAll(async () => {
  otlp = await startOtlp();
  const { NODE_OPTIONS: _, ...env } = otlp.env;
  const others = { OTEL_TRACES_SAMPLER: 'always_on', OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' };
  Object.assign(process.env, env, others);
  sdk = new NodeSDK();
  sdk.start();
  const [{ createOutbound, OPERATOR_POLICY }, { systemClock }, { createLogger }] = await Promise.all([
    import('../../src/outbound/outbound.ts'),
    import('../../src/base/clock.ts'),
    import('../../src/base/telemetry.ts'),
  ]);
  [outbound, operator] = [createOutbound({ clock: systemClock, proxy: { proxy: null, noProxy: [] } }), OPERATOR_POLICY];
  log = createLogger('info', {
    write: (line) => {
      logged += line;
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await outbound?.close();
  await sdk?.shutdown();
  server.close();
  await once(server, 'close');
  await otlp?.close();
});

const ask = async (policy: Policy, path = '/') => {
  await outbound.send({ url: url + path, policy, timeoutMs: 5000, maxBytes: 100 });
  return received.at(-1) ?? {};
};
const inSpan = async <T>(work: () => Promise<T>): Promise<{ traceId: string; result: T }> => {
  const span = trace.getTracer('test').startSpan('caller');
  const result = await context.with(trace.setSpan(context.active(), span), work);
  span.end();
  return { traceId: span.spanContext().traceId, result };
};

test("the operator's own services are told of the trace", async () => {
  const { traceId, result } = await inSpan(() => ask(operator));
  expect(result.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
});

test('push services and pictures of brands are not', async () => {
  const { traced: _, ...others } = operator;
  const { result } = await inSpan(() => ask(others));
  expect(result).not.toHaveProperty('traceparent');
});

test('without a call there is no trace to tell of', async () => {
  expect(await ask(operator)).not.toHaveProperty('traceparent');
});

test('a span of an exchange names the host, and an error by its status', async () => {
  const { traceId } = await inSpan(() => ask(operator, '/away?secret=1'));
  const span = await otlp.find((one) => one.traceId === traceId && one.name === 'GET');
  expect(span).toMatchObject({ kind: 3, status: 2 });
  expect(span.attributes).toEqual({
    'http.request.method': 'GET',
    'server.address': '127.0.0.1',
    'url.scheme': 'http',
    'http.response.status_code': 503,
    'error.type': '503',
  });
});

test('lines of the log name the span of the work, and no other lines do', async () => {
  const { traceId } = await inSpan(async () => log.info('inside'));
  log.info('outside');
  const [inside, outside] = logged
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(inside).toMatchObject({ msg: 'inside', trace_id: traceId, span_id: expect.stringMatching(/^[0-9a-f]{16}$/) });
  expect(outside).not.toHaveProperty('trace_id');
});
