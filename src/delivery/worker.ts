/**
 * The worker (process role `worker`): claims due deliveries, passes each to its channel and stores the outcome. All state that has
 * to survive is in the delivery table, so a killed worker loses no delivery (docs/adr/0008).
 */

import { type ChannelName, perChannel } from '../base/channels.ts';
import type { CircuitBreaker } from '../base/circuit-breaker.ts';
import type { Clock } from '../base/clock.ts';
import { FailureLog, type Logger } from '../base/telemetry.ts';
import { TurnQueue } from '../base/time-slice.ts';
import { inCaused, SpanKind, sampledTrace } from '../base/tracing.ts';
import { sleep, within } from '../base/wait.ts';
import type { Database } from '../persistence/database.ts';
import { claimDue, readPresent, releaseAll, renewLeases } from '../persistence/delivery/claims.ts';
import { CANCELLED } from '../persistence/delivery/settle.ts';
import { type Attempt, type Channel, FRESH_MS, failed, postponed } from './attempt.ts';
import { MAX_ATTEMPTS } from './backoff.ts';
import { type Caused, CHANNELS } from './channels.ts';
import { type Held, InFlight } from './in-flight.ts';
import type { DeliveryMetrics, DeliveryOutcome } from './metrics.ts';
import type { DeliveryBell } from './queue.ts';
import { Settling } from './settling.ts';

/** Steps of a delivery at which tests end the process. */
export type DeliveryFailpoint = 'claimed' | 'sending' | 'sent' | 'settled';

export interface DeliveryFailpoints {
  hit(name: DeliveryFailpoint): Promise<void> | void;
}

export interface WorkerParts {
  database: Database;
  clock: Clock;
  log: Logger;
  channels: Readonly<Record<ChannelName, Channel>>;
  /** By lane. The worker claims nothing from a lane whose breaker is open. */
  breaker: CircuitBreaker;
  metrics: Pick<DeliveryMetrics, 'count'>;
  bell: DeliveryBell;
  failpoints?: DeliveryFailpoints | undefined;
}

export const WORKER_LIMITS = {
  /** Interval between claims while the bell is silent. */
  pollMs: 1000,
  /** The deliveries of a killed worker are due again after this time. */
  leaseMs: 20_000,
  renewMs: 5000,
  total: 256,
  atOnce: 96,
  /** At close, attempts have `drainMs` to finish. Then they are aborted, and have `giveUpMs` to settle. */
  drainMs: 5000,
  giveUpMs: 3000,
} as const;

/** The most deliveries claimed from one lane, by the prefix of the lane's name. */
const PER_LANE = Object.fromEntries(Object.values(CHANNELS).map(({ lanes, perLane }) => [lanes, perLane.claimed]));

/** Delay of a delivery that could not be read from the database. */
const UNREAD_MS = 2000;
/** Deliveries started in one turn of the event loop. */
const BEGIN_IN_A_TURN = 4;
/** Why the wait for the next claim ended. */
const RUNG = Symbol('rung');
/** The delivery is due again when its lease ends. */
const UNSETTLED = 'delivery not settled; due again after its lease';

export class DeliveryWorker {
  readonly #parts: WorkerParts;
  readonly #inFlight = new InFlight({ ...WORKER_LIMITS, perLane: perChannel((name) => CHANNELS[name].perLane) });
  readonly #settling: Settling;
  readonly #claims: FailureLog;
  readonly #renewals: FailureLog;
  readonly #underWay = new Set<Promise<void>>();
  /** Spreads a batch of starts over several turns. One start a turn would leave the processor idle between pushes. */
  readonly #starts = new TurnQueue(BEGIN_IN_A_TURN);
  readonly #cut = new AbortController();
  /** Claims lost to another worker. */
  readonly #lost = new WeakSet<Held>();
  /** Monotonic milliseconds. */
  #lookedAt = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | undefined;
  #closing = false;
  #loops: { claiming: Promise<void>; renewing: Promise<void> } | undefined;
  /** The bell aborts it to end the wait for the next claim. */
  #rung = new AbortController();

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    const { database, clock, log, breaker } = parts;
    this.#claims = new FailureLog({
      log,
      clock,
      failing: 'claiming deliveries failed; retrying',
      working: 'claiming deliveries works again',
    });
    this.#renewals = new FailureLog({
      log,
      clock,
      failing: 'renewing delivery leases failed; retrying',
      working: 'renewing delivery leases works again',
    });
    this.#settling = new Settling({
      database,
      clock,
      log,
      busy: () => this.#inFlight.underWay > 0,
      refused: (lane) => {
        log.warn({ lane }, 'SMTP server refuses different recipients with the same words; brand paused');
        breaker.refused(lane);
      },
    });
  }

  /** Deliveries left by an earlier process are due at once in an embedded database, elsewhere when their leases end. */
  async start(): Promise<void> {
    const { database, bell, clock } = this.#parts;
    if (database.kind === 'pglite') {
      await database.change(async (tx) => ({ result: await releaseAll(tx), scopes: [] }));
    }
    bell.listen(this.#ring);
    this.#lookedAt = clock.monotonic();
    this.#loops = { claiming: this.#claiming(), renewing: this.#renewing() };
  }

  /** Stops claiming; finishes the claimed deliveries, or releases them after a few seconds. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#ring();
    this.#begin();
    const { drainMs, giveUpMs } = WORKER_LIMITS;
    const { clock } = this.#parts;
    await within(clock, drainMs, this.#finished());
    this.#cut.abort();
    await within(clock, giveUpMs, Promise.all([this.#finished(), this.#loops?.renewing]));
    if (this.#inFlight.size > 0) {
      this.#parts.log.warn(
        { deliveries: this.#inFlight.size },
        'deliveries left in flight; they become due after their leases',
      );
    }
  }

  /** How long ago the worker last managed to look for due deliveries, in ms; at first since its start. */
  get ageMs(): number {
    return this.#parts.clock.monotonic() - this.#lookedAt;
  }

  readonly #ring = (): void => {
    // An abort creates an exception with its stack, also where it has no effect; deliveries that end ring by the hundred.
    if (!this.#rung.signal.aborted) this.#rung.abort(RUNG);
  };

  async #claiming(): Promise<void> {
    while (!this.#closing) {
      this.#rung = new AbortController();
      try {
        await this.#claim();
        this.#lookedAt = this.#parts.clock.monotonic();
      } catch (error) {
        this.#claims.failed(error);
      }
      await sleep(this.#parts.clock, WORKER_LIMITS.pollMs, this.#rung.signal);
    }
  }

  async #claim(): Promise<void> {
    const { database, clock, breaker, failpoints } = this.#parts;
    const { leaseMs } = WORKER_LIMITS;
    const room = this.#inFlight.room();
    const { limit, free } = room;
    if (limit === 0) return;
    for (const lane of breaker.open()) free.set(lane, 0);
    const claimedAt = clock.monotonic();
    const request = { limit, perLane: PER_LANE, free, leaseMs };
    const { result } = await database.change(async (tx) => ({ result: await claimDue(tx, request), scopes: [] }));
    this.#claims.succeeded();
    if (result.length === 0) return;
    this.#inFlight.take(
      result.map((claimed) => ({ ...claimed, claimedAt })),
      room,
    );
    await failpoints?.hit('claimed');
    this.#begin();
  }

  /** Starts as many claimed deliveries as the limits allow. */
  #begin(): void {
    if (this.#closing)
      for (const held of this.#inFlight.takeWaiting()) this.#follow(this.#settle(held, postponed(held, 0)));
    for (let held = this.#inFlight.next(); held !== undefined; held = this.#inFlight.next())
      this.#follow(this.#deliver(held));
  }

  #follow(work: Promise<void>): void {
    this.#underWay.add(work);
    void work.finally(() => this.#underWay.delete(work));
  }

  async #deliver(held: Held): Promise<void> {
    const { clock, failpoints, metrics } = this.#parts;
    await this.#starts.turn();
    const startedAt = clock.monotonic();
    let attempt: Attempt;
    try {
      await failpoints?.hit('sending');
      const traced = await this.#traced(held);
      attempt = traced.attempt;
      await failpoints?.hit('sent');
      metrics.count(held.channel, outcomeOf(attempt), (clock.monotonic() - startedAt) / 1000, traced.trace);
    } catch (error) {
      this.#parts.log.error({ err: error, deliveryId: held.id }, UNSETTLED);
      if (this.#inFlight.drop(held)) this.#ring();
      return;
    } finally {
      // The next delivery can start while the outcome of this one is stored.
      if (this.#inFlight.ended(held)) this.#ring();
      this.#begin();
    }
    await this.#settle(held, attempt);
  }

  /** In the trace of the send, which may have been in another thread or process, and before a restart. */
  #traced(held: Held): Promise<{ attempt: Attempt; trace: string | undefined }> {
    const { traceparent } = held.content as Caused;
    const attributes = { 'usher.channel': held.channel, 'usher.attempt': held.attempts };
    return inCaused(`deliver ${held.channel}`, { kind: SpanKind.CONSUMER, attributes, traceparent }, async (span) => {
      const attempt = await this.#attempt(held);
      span?.setAttribute('usher.outcome', outcomeOf(attempt));
      return { attempt, trace: sampledTrace(span) };
    });
  }

  /** The outcome of the channel, or one that needs no attempt: the claim is lost, the user is inactive, the delivery has expired. */
  async #attempt(held: Held): Promise<Attempt> {
    try {
      // Its row was deleted or claimed by another worker: this outcome will not be stored.
      if (!(await this.#isPresent(held))) return postponed(held, 0);
    } catch (error) {
      this.#parts.log.warn({ err: error, deliveryId: held.id }, 'reading a delivery failed; postponed');
      return postponed(held, UNREAD_MS);
    }
    if (held.cancelled) return failed(CANCELLED, { attempted: false });
    // Users who were deactivated after the claim receive nothing.
    if (!held.active) return failed('user_inactive', { attempted: false });
    if (held.expired || held.attempts > MAX_ATTEMPTS) return failed('expired', { attempted: false });
    // The breaker may have opened while this delivery waited for its turn.
    const heldMs = this.#parts.breaker.remaining(held.lane);
    if (heldMs > 0) return postponed(held, heldMs);
    return await this.#parts.channels[held.channel].attempt(held, this.#cut.signal);
  }

  /** Whether this worker still holds the claim. Reads a delivery again that has waited longer than FRESH_MS. */
  async #isPresent(held: Held): Promise<boolean> {
    const { clock } = this.#parts;
    if (clock.monotonic() - held.claimedAt > FRESH_MS) {
      this.#refreshing ??= this.#refresh().finally(() => {
        this.#refreshing = undefined;
      });
      await this.#refreshing;
    }
    return !this.#lost.has(held);
  }

  /** Reads all claimed deliveries again in one query: others of a slow lane need the same next. */
  async #refresh(): Promise<void> {
    const { database, clock } = this.#parts;
    const at = clock.monotonic();
    const all = this.#inFlight.all();
    const present = await database.read((tx) => readPresent(tx, all));
    for (const held of all) {
      const found = present.get(held.id);
      if (found === undefined) this.#lost.add(held);
      else Object.assign(held, found, { claimedAt: at });
    }
  }

  async #settle(held: Held, attempt: Attempt): Promise<void> {
    const { log, failpoints } = this.#parts;
    try {
      if (!(await this.#settling.settle(held, attempt))) {
        log.warn({ deliveryId: held.id }, 'delivery outlived its lease; another worker claimed it');
      }
      await failpoints?.hit('settled');
    } catch (error) {
      log.error({ err: error, deliveryId: held.id }, UNSETTLED);
    } finally {
      if (this.#inFlight.drop(held)) this.#ring();
    }
  }

  async #renewing(): Promise<void> {
    const { database } = this.#parts;
    const { leaseMs, renewMs } = WORKER_LIMITS;
    for (;;) {
      await sleep(this.#parts.clock, renewMs, this.#cut.signal);
      if (this.#cut.signal.aborted) return;
      const held = this.#inFlight.all();
      if (held.length === 0) continue;
      try {
        await database.change(async (tx) => ({ result: await renewLeases(tx, held, leaseMs), scopes: [] }));
        this.#renewals.succeeded();
      } catch (error) {
        this.#renewals.failed(error);
      }
    }
  }

  /** Resolves once claiming has stopped and no attempt is under way. */
  async #finished(): Promise<void> {
    await this.#loops?.claiming;
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }
}

function outcomeOf({ sent, againInMs, attempted, error }: Attempt): DeliveryOutcome {
  if (sent) return 'sent';
  if (againInMs === null) return 'failed';
  return attempted && error !== null ? 'retried' : 'postponed';
}
