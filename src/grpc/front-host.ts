/** What the front of the gRPC port asks of the service: the words for what is refused, and how addresses count and are listened at. */

import { type Reason, RefusedCall } from '#http2-front/refused-call';
import type { CallErrors, Refusal, Service, Status } from '#http2-front/service';
import { type GrpcStatus, toUsherError, UsherError } from '../base/errors.ts';
import { networkOf } from '../base/ip-address.ts';
import { listenAt } from '../base/listening.ts';
import { requestId } from '../base/telemetry.ts';
import type { Span } from '../base/tracing.ts';
import { severalKeys } from './bridge.ts';
import { isGuesser, isWrongKey } from './guesses.ts';
import { toStatus } from './status.ts';
import { failure, MAX_MESSAGE, type WaitingCalls } from './waiting.ts';

type HostParts = 'mostBytes' | 'calls' | 'errors' | 'requestId' | 'networkOf' | 'listenAt';

export function frontHost(calls: WaitingCalls): Pick<Service, HostParts> {
  return {
    mostBytes: MAX_MESSAGE,
    calls,
    errors: new FrontErrors(calls),
    requestId,
    networkOf,
    listenAt,
  };
}

/** What callers are told where the front refuses by itself. */
const WORDS: Readonly<Record<Reason, (message: string) => UsherError>> = {
  unreadable: () => new UsherError('BAD_REQUEST', 'A header of the call has a control character in its value.'),
  'several keys': severalKeys,
  'open calls': () => new UsherError('RATE_LIMITED', 'Too many open calls without a key; try again shortly.'),
  'unfinished bytes': () =>
    new UsherError('RATE_LIMITED', 'Too many bytes of unfinished messages; try again shortly.', { retryAfter: 1 }),
  'too long': (message) => new UsherError('PAYLOAD_TOO_LARGE', message),
  'too late': () => new UsherError('DEADLINE_EXCEEDED', 'The message of the call did not arrive in time.'),
};

function inOurWords(thrown: unknown): unknown {
  return thrown instanceof RefusedCall ? WORDS[thrown.reason](thrown.message) : thrown;
}

class FrontErrors implements CallErrors {
  readonly #calls: WaitingCalls;

  constructor(calls: WaitingCalls) {
    this.#calls = calls;
  }

  refusalOf(thrown: unknown): Refusal | null {
    const error = toUsherError(inOurWords(thrown));
    return error.code === 'INTERNAL' ? null : new ErrorRefusal(error);
  }

  failure(thrown: unknown, method: number, given: string | undefined, span: object | null = null): Status {
    return failure(inOurWords(thrown), method, given, this.#calls.options.log, span as Span | null);
  }

  isWrongKey(thrown: unknown): boolean {
    return isWrongKey(inOurWords(thrown));
  }

  isGuesser(thrown: unknown): boolean {
    return isGuesser(inOurWords(thrown));
  }
}

class ErrorRefusal implements Refusal {
  readonly #error: UsherError;
  readonly code: GrpcStatus;

  constructor(error: UsherError) {
    this.#error = error;
    this.code = error.grpcStatus;
  }

  get kind(): string {
    const { code, reason, retryAfter, message, details } = this.#error;
    return `${code} ${reason} ${retryAfter} ${message} ${details === undefined ? '' : JSON.stringify(details)}`;
  }

  status(): Status {
    const status = toStatus(this.#error, '');
    status.metadata.remove('x-request-id');
    return status;
  }
}
