/**
 * A delivery by push, to every subscribed browser of the person. It counts as sent once one browser accepted it. Only targets with a
 * transient failure are retried.
 */

import type { CircuitBreaker } from '../base/circuit-breaker.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Claimed } from '../persistence/delivery/claims.ts';
import type { PushTarget } from '../persistence/delivery/push-subscriptions.ts';
import { type Attempt, type Channel, failed } from './attempt.ts';
import { nextAttemptIn } from './backoff.ts';
import type { PushContent } from './channels.ts';
import type { Held } from './in-flight.ts';
import { originOf, type PushOutcome, type PushSender } from './push.ts';
import type { PushPauses } from './push-pauses.ts';

export interface PushChannelParts {
  sender: Pick<PushSender, 'send'>;
  /** By origin. */
  breaker: CircuitBreaker;
  pauses: PushPauses;
  log: Logger;
  clock: Pick<Clock, 'random'>;
}

/** The most pushes to one origin at once. Lanes limit people with one browser; this limits people with several. */
const PER_ORIGIN = 32;
/** Retry delay when the limit of an origin is reached; jitter adds up to the same. */
const CROWDED_MS = 500;

/** `held`: the push was not attempted. */
type Result = PushOutcome | { readonly kind: 'held'; readonly forMs: number };

export class PushChannel implements Channel {
  readonly #parts: PushChannelParts;
  readonly #underWay = new Map<string, number>();

  constructor(parts: PushChannelParts) {
    this.#parts = parts;
  }

  async attempt(claimed: Held, signal: AbortSignal): Promise<Attempt> {
    const targets = claimed.targets.filter(({ id }) => !claimed.pushDone.includes(id));
    if (targets.length === 0) return failed('push_gone');
    const content = claimed.content as PushContent;
    const results = await Promise.all(
      targets.map(async (target) => ({ target, result: await this.#push(target, content, signal) })),
    );
    return conclude(claimed, results, this.#parts.clock.random());
  }

  async #push(target: PushTarget, content: PushContent, signal: AbortSignal): Promise<Result> {
    const { sender, breaker, pauses } = this.#parts;
    const origin = originOf(target);
    const held = Math.max(breaker.remaining(origin), pauses.remaining(target));
    if (held > 0) return { kind: 'held', forMs: held };
    const underWay = this.#underWay.get(origin) ?? 0;
    if (underWay >= PER_ORIGIN) return { kind: 'held', forMs: CROWDED_MS };
    this.#underWay.set(origin, underWay + 1);
    try {
      const outcome = await sender.send(target, content, signal);
      if (signal.aborted && outcome.kind === 'later') return { kind: 'held', forMs: 0 };
      this.#learn(target, origin, outcome);
      return outcome;
    } finally {
      const left = (this.#underWay.get(origin) ?? 1) - 1;
      if (left === 0) this.#underWay.delete(origin);
      else this.#underWay.set(origin, left);
    }
  }

  #learn(target: PushTarget, origin: string, outcome: PushOutcome): void {
    const { breaker, pauses, log } = this.#parts;
    if (outcome.kind !== 'later') {
      // The service responds, even if it refuses this push.
      if (outcome.kind !== 'refused') breaker.succeeded(origin);
      return;
    }
    const { throttled, retryAfterMs } = outcome;
    if (throttled) {
      if (pauses.throttled(target, retryAfterMs))
        log.warn({ origin }, 'push service throttles several browsers; paused');
      return;
    }
    if (retryAfterMs > 0) pauses.pause(target, retryAfterMs);
    breaker.failed(origin);
  }
}

/** Combines the results of all targets into one outcome. Exported for its table of tests. */
export function conclude(
  { attempts, pushDone }: Pick<Claimed, 'attempts' | 'pushDone'>,
  results: readonly { target: PushTarget; result: Result }[],
  random: number,
): Attempt {
  const of = <K extends Result['kind']>(kind: K) =>
    results.flatMap(({ target, result }) =>
      result.kind === kind ? [{ target, result: result as Extract<Result, { kind: K }> }] : [],
    );
  const [sent, gone, refused, later, held] = [of('sent'), of('gone'), of('refused'), of('later'), of('held')];
  const done = [...sent, ...gone, ...refused].map(({ target }) => target.id);
  return {
    sent: sent.length > 0,
    attempted: held.length < results.length,
    againInMs: againIn(),
    error: (later[0] ?? refused[0])?.result.error ?? (gone.length > 0 ? 'push_gone' : null),
    pushDone: [...pushDone, ...done],
    used: sent.map(({ target }) => target.id),
    gone: gone.map(({ target }) => target),
  };

  function againIn(): number | null {
    if (later.length > 0) {
      const retryAfterMs = Math.max(...later.map(({ result }) => result.retryAfterMs));
      return nextAttemptIn(attempts, random, retryAfterMs);
    }
    if (held.length === 0) return null;
    // Not before the first hold ends, and not all at the same moment.
    return Math.min(...held.map(({ result }) => result.forMs)) + random * CROWDED_MS;
  }
}
