/**
 * The key of a call is looked at with its headers, before grpc-js reads a message, where the port is grpc-js's own
 * (`grpc.front: false`). An interceptor: it costs 15 % of the throughput, and a stranger's megabytes cost more.
 */

import { type Metadata, ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import { apiKey, requestIdOf } from './bridge.ts';
import type { GrpcConnections } from './connections.ts';
import { isGuesser, isWrongKey } from './guesses.ts';
import { type GrpcRefused, REFUSED } from './refused.ts';
import type { Entrances } from './served-methods.ts';
import { failure, type WaitingOptions } from './waiting.ts';

export interface AdmissionParts {
  readonly entrances: Entrances;
  readonly connections: GrpcConnections;
  readonly options: WaitingOptions;
  readonly refused: GrpcRefused;
  /** From the headers of a call to the last byte of its message. */
  readonly messageMs: number;
}

export function admitFirst({ entrances, connections, options, refused, messageMs }: AdmissionParts): ServerInterceptor {
  const { log, metrics, clock } = options;
  const arriving = new Arriving(messageMs, clock);
  return ({ path }, call) => {
    const entrance = entrances.get(path);
    const refuse = (error: unknown, metadata: Metadata): void => {
      const index = entrance?.index ?? -1;
      const status = failure(error, index, requestIdOf(metadata), log);
      if (index >= 0) metrics.answered(index, status.code);
      call.sendStatus(status);
    };
    return new ServerInterceptingCall(call, {
      start: (next) => {
        const client = call.getConnectionInfo();
        const ended = connections.begin(client);
        const guesses = connections.guessesOf(client);
        let arrived = (): void => undefined;
        next({
          onReceiveMetadata: (metadata, take) => {
            try {
              const key = apiKey(metadata);
              if (entrance?.authorize) {
                guesses?.check(forwardedFor(metadata));
                entrance.authorize(key);
                connections.prove(client);
              }
            } catch (error) {
              if (metadata.get('x-internal-api-key').length > 0 && isWrongKey(error)) {
                guesses?.guessed(forwardedFor(metadata));
              }
              refused.count(isGuesser(error) ? REFUSED.GUESSES : REFUSED.KEY);
              refuse(error, metadata);
              return;
            }
            arrived = arriving.add(() => {
              refused.count(REFUSED.LATE);
              refuse(new UsherError('DEADLINE_EXCEEDED', 'The message of the call did not arrive in time.'), metadata);
            });
            take(metadata);
          },
          onReceiveMessage: (message, take) => {
            arrived();
            take(message);
          },
          onReceiveHalfClose: (take) => {
            arrived();
            take();
          },
          // Also told after the end of every call.
          onCancel: () => {
            arrived();
            ended();
          },
        });
      },
    });
  };
}

function forwardedFor(metadata: Metadata): string | undefined {
  return metadata.get('x-forwarded-for').at(-1)?.toString();
}

/** Calls whose message has not come, the oldest first: one timer for all of them. */
class Arriving {
  readonly #ms: number;
  readonly #clock: Clock;
  readonly #calls = new Map<() => void, number>();
  #armed = false;

  constructor(ms: number, clock: Clock) {
    this.#ms = ms;
    this.#clock = clock;
  }

  /** Returns what takes it out again. */
  add(late: () => void): () => void {
    this.#calls.set(late, this.#clock.monotonic());
    if (!this.#armed) this.#arm(this.#ms);
    return () => {
      this.#calls.delete(late);
    };
  }

  #arm(ms: number): void {
    this.#armed = true;
    this.#clock.after(ms, () => {
      this.#armed = false;
      this.#look();
    });
  }

  #look(): void {
    const now = this.#clock.monotonic();
    for (const [late, since] of this.#calls) {
      const left = since + this.#ms - now;
      if (left > 0) {
        this.#arm(Math.ceil(left));
        return;
      }
      this.#calls.delete(late);
      late();
    }
  }
}
