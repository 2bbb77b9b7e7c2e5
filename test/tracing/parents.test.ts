import { afterAll, expect, test } from '@jest/globals';
import { propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { systemClock } from '../../src/base/clock.ts';
import { pick, seeded } from '../oracle/world.ts';
import { ended, sdk } from '../support/kept-spans.ts';

afterAll(() => sdk.shutdown());
// Loaded behind the SDK, as the service is.
const { serverSpan, spanOf } = await import('../../src/base/tracing.ts');
const { CallTraces } = await import('../../src/grpc/call-traces.ts');
const { GrpcMetrics, METHODS } = await import('../../src/grpc/metrics.ts');

const ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const USUAL = `00-${ID}-${SPAN}-01`;
const CHECK = METHODS.indexOf('Check');
const random = seeded(20_260_726);

function mutated(header: string): string {
  const at = random(header.length + 1);
  const put = pick(random, ['', '0', '1', 'f', 'F', 'g', '-', ' ', '00', '0'.repeat(16), '0'.repeat(32), '-01']);
  return header.slice(0, at) + put + header.slice(at + pick(random, [0, put.length, 1]));
}

function parentOf(carrier: { traceparent?: string | undefined; tracestate?: string | undefined }) {
  ended.length = 0;
  spanOf(serverSpan(trace.getTracer('test'), 'it', carrier, { attributes: {} }))?.end();
  const [span] = ended;
  const by = trace.getSpanContext(propagation.extract(ROOT_CONTEXT, carrier));
  // The sampler leaves out what its caller does not sample: nothing has ended then.
  return { read: span?.parentSpanContext, by, isSampled: span !== undefined };
}

test('a caller is read as the propagator of the SDK reads it, whatever it sends', () => {
  const seen = { callers: 0, none: 0, unsampled: 0 };
  const states = [undefined, undefined, '', 'vendor=1', 'a=1,b=2', '=,'];
  for (let i = 0; i < 5000; i++) {
    const flags = pick(random, ['00', '01', '02', '03', 'ff']);
    let traceparent: string | undefined = `00-${ID}-${SPAN}-${flags}`;
    for (let times = random(3); times > 0; times--) traceparent = mutated(traceparent);
    if (random(20) === 0) traceparent = undefined;
    const carrier = { traceparent, tracestate: states[random(states.length)] };
    const { read, by, isSampled } = parentOf(carrier);
    const plain = (parent: typeof by) =>
      parent && { ...parent, traceState: parent.traceState?.serialize() || undefined };
    if (isSampled) expect({ carrier, parent: plain(read) }).toEqual({ carrier, parent: plain(by) });
    else expect({ carrier, sampled: (by?.traceFlags ?? 1) & 1 }).toEqual({ carrier, sampled: 0 });
    if (!isSampled) seen.unsampled++;
    else if (read === undefined) seen.none++;
    else seen.callers++;
  }
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(100);
});

test('the span of an answer from memory lasts as long as its handler, also where it is refused', () => {
  const traces = new CallTraces(trace.getTracer('test'), systemClock, new GrpcMetrics());
  const busy = (): Buffer => {
    const until = performance.now() + 5;
    while (performance.now() < until);
    return Buffer.alloc(0);
  };
  ended.length = 0;
  const before = Date.now();
  void traces.run(CHECK, { traceparent: USUAL }, busy, Buffer.alloc(0));
  traces.end(traces.answered(), 0);
  const refuse = (): never => {
    busy();
    throw new Error('refused');
  };
  expect(() => traces.run(CHECK, { traceparent: USUAL }, refuse, Buffer.alloc(0))).toThrow('refused');
  traces.end(traces.answered(), 3);
  expect(ended.map(({ attributes }) => attributes['rpc.status_code'])).toEqual(['OK', 'INVALID_ARGUMENT']);
  for (const { startTime, duration, parentSpanContext } of ended) {
    expect(parentSpanContext).toMatchObject({ traceId: ID, spanId: SPAN, isRemote: true });
    expect(duration[0] * 1e3 + duration[1] / 1e6).toBeGreaterThanOrEqual(5);
    expect(Math.abs(startTime[0] * 1e3 + startTime[1] / 1e6 - before)).toBeLessThan(1000);
  }
});
