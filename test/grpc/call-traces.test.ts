import { afterAll, expect, test } from '@jest/globals';
import { context, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { waiting } from '../../src/base/tracing.ts';
import { CallTraces, endCall } from '../../src/grpc/call-traces.ts';
import { GrpcMetrics, METHODS } from '../../src/grpc/metrics.ts';
import { FakeClock } from '../engine/fake-clock.ts';

let spans = 0;
const counting = {
  onStart: () => undefined,
  onEnd: () => {
    spans++;
  },
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
};
const sdk = new NodeSDK({ spanProcessors: [counting], autoDetectResources: false });
sdk.start();
afterAll(() => sdk.shutdown());

const CHECK = METHODS.indexOf('Check');
const SAMPLED = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
const ANSWER = Buffer.alloc(0);

function setUp() {
  const clock = new FakeClock();
  const metrics = new GrpcMetrics();
  const traces = new CallTraces(trace.getTracer('test'), clock, metrics);
  const answerAll = (count: number): number => {
    spans = 0;
    for (let i = 0; i < count; i++) {
      void traces.run(CHECK, SAMPLED, () => ANSWER, ANSWER);
      traces.end(traces.answered(), 0);
    }
    return spans;
  };
  return { clock, metrics, traces, answerAll };
}

test('a caller who samples every call has 100 spans a second of answers from memory, and 10 at once', async () => {
  const { clock, metrics, answerAll } = setUp();
  expect([answerAll(70), metrics.untraced]).toEqual([10, 60]);
  await clock.advance(10);
  expect([answerAll(5), metrics.untraced]).toEqual([1, 64]);
  const made: number[] = [];
  for (let i = 0; i < 200; i++) {
    await clock.advance(5);
    made.push(answerAll(10));
  }
  // Over the whole second, rather than at its beginning.
  expect(made.reduce((sum, count) => sum + count)).toBe(100);
  expect(Math.max(...made)).toBe(1);
  // Seconds without a call are not saved up.
  await clock.advance(60_000);
  expect(answerAll(70)).toBe(10);
});

test('a call that waits has a span beyond those, and one whose key is refused none', () => {
  const { metrics, traces, answerAll } = setUp();
  answerAll(10);
  void traces.run(CHECK, SAMPLED, () => Promise.resolve(ANSWER), ANSWER);
  endCall(traces.waits(), 0);
  expect([spans, metrics.untraced]).toEqual([11, 0]);
  expect([traces.answered(), metrics.untraced]).toEqual([null, 0]);
  void traces.run(CHECK, {}, () => ANSWER, ANSWER);
  expect([traces.answered(), metrics.untraced]).toEqual([null, 0]);
});

test('what waits between two calls belongs to neither, and what a part of a call waits for to that part', () => {
  const { traces } = setUp();
  const active = () => trace.getActiveSpan()?.spanContext().spanId;
  void traces.run(CHECK, SAMPLED, () => ANSWER, ANSWER);
  expect(traces.answered()).not.toBeNull();
  expect(waiting(active)).toBeUndefined();
  const part = trace.getTracer('test').startSpan('part');
  let seen: unknown;
  const handle = (): Promise<Buffer> => {
    expect(waiting(active)).toBeDefined();
    seen = waiting(() => context.with(trace.setSpan(context.active(), part), () => waiting(active)));
    return Promise.resolve(ANSWER);
  };
  void traces.run(CHECK, SAMPLED, handle, ANSWER);
  endCall(traces.waits(), 0);
  expect(seen).toBe(part.spanContext().spanId);
  expect(waiting(active)).toBeUndefined();
});

test('calls of one listener are never taken for those of another', () => {
  const [one, other] = [setUp().traces, setUp().traces];
  const active = () => trace.getActiveSpan()?.spanContext().traceId;
  void one.run(CHECK, SAMPLED, () => ANSWER, ANSWER);
  one.answered();
  const seen: unknown[] = [];
  for (const [i, traces] of [other, one].entries()) {
    const id = `${i}af7651916cd43dd8448eb211c80319c`;
    const carrier = { traceparent: `00-${id}-b7ad6b7169203331-01` };
    const handle = (): Promise<Buffer> => {
      seen.push([waiting(active), id]);
      return Promise.resolve(ANSWER);
    };
    void traces.run(CHECK, carrier, handle, ANSWER);
    endCall(traces.waits(), 0);
  }
  expect(seen).toHaveLength(2);
  for (const [found, id] of seen as [string, string][]) expect(found).toBe(id);
});
