import { afterAll, expect, test } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
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

test('a caller who samples every call has 500 spans a second of answers from memory, and one of each that waits', async () => {
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
  expect([answerAll(700), metrics.untraced]).toEqual([500, 200]);
  void traces.run(CHECK, SAMPLED, () => Promise.resolve(ANSWER), ANSWER);
  endCall(traces.waits(), 0);
  expect([spans, metrics.untraced]).toEqual([501, 200]);
  // A call whose key is refused is none of them.
  expect([traces.answered(), metrics.untraced]).toEqual([null, 200]);
  await clock.advance(1000);
  expect([answerAll(300), metrics.untraced]).toEqual([300, 200]);
  void traces.run(CHECK, {}, () => ANSWER, ANSWER);
  expect([traces.answered(), metrics.untraced]).toEqual([null, 200]);
});
