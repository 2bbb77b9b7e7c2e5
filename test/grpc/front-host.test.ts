import { expect, test } from '@jest/globals';
import { type Reason, RefusedCall } from '#http2-front/refused-call';
import { systemClock } from '../../src/base/clock.ts';
import { UsherError } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { frontHost } from '../../src/grpc/front-host.ts';
import { GrpcMetrics } from '../../src/grpc/metrics.ts';
import { WaitingCalls } from '../../src/grpc/waiting.ts';

/** What callers are told of what the front refuses, and how the service counts it (docs/reference/http.md#limits). */

const { errors } = frontHost(
  new WaitingCalls({
    log: createLogger('silent'),
    metrics: new GrpcMetrics(),
    traces: null,
    clock: systemClock,
    deadlineMs: 1000,
  }),
);

test.each<[Reason, number, string]>([
  ['unreadable', 3, 'A header of the call has a control character in its value.'],
  ['several keys', 16, 'The call has several x-internal-api-key headers; send one.'],
  ['open calls', 8, 'Too many open calls without a key; try again shortly.'],
  ['unfinished bytes', 8, 'Too many bytes of unfinished messages; try again shortly.'],
  ['too long', 8, 'Received message larger than max (2 vs 1)'],
  ['too late', 4, 'The message of the call did not arrive in time.'],
])('%s is refused with code %i in our words', (reason, code, words) => {
  const thrown = new RefusedCall(reason, words);
  const refusal = errors.refusalOf(thrown);
  expect([refusal?.code, refusal?.status().code, refusal?.status().details]).toEqual([code, code, words]);
  expect(Object.keys(refusal?.status().metadata.toHttp2Headers() ?? {})).toEqual(['grpc-status-details-bin']);
  expect(errors.failure(thrown, 0, 'an-id')).toMatchObject({ code, details: words });
  expect(errors.isWrongKey(thrown)).toBe(reason === 'several keys');
});

test('refusals are of one kind where they differ by nothing that the caller is told', () => {
  const kindOf = (error: unknown) => errors.refusalOf(error)?.kind;
  expect(kindOf(new RefusedCall('too late'))).toBe(kindOf(new RefusedCall('too late')));
  const kinds = [
    new RefusedCall('too late'),
    new RefusedCall('several keys'),
    new UsherError('UNAUTHENTICATED', 'Unknown internal API key.'),
    new UsherError('RATE_LIMITED', 'Too many.', { retryAfter: 1 }),
    new UsherError('RATE_LIMITED', 'Too many.', { retryAfter: 2 }),
  ].map(kindOf);
  expect(new Set(kinds).size).toBe(kinds.length);
});

test('what nobody expected is a failure, and no refusal', () => {
  expect(errors.refusalOf(new TypeError('x is not a function'))).toBeNull();
  expect(errors.failure(new TypeError('x is not a function'), 0, undefined)).toMatchObject({ code: 13 });
});
