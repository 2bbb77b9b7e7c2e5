/**
 * The worker (process role `worker`): claims what is due, hands it to its channel, writes what came of it. Everything that has to
 * survive stands in the table; a worker that is killed loses only its time (docs/adr/0008).
 */

import type { Clock } from '../clock.ts';
import type { Database } from '../persistence/database.ts';
import { type Claimed, claimDue, releaseAll, renewLeases } from '../persistence/delivery/claims.ts';
import { noteResults } from '../persistence/delivery/push-subscriptions.ts';
import { settleDelivery } from '../persistence/delivery/settle.ts';
import type { Logger } from '../telemetry.ts';
import { type Attempt, type Channel, failed } from './attempt.ts';
import { MAX_ATTEMPTS } from './backoff.ts';
import type { Holds } from './holds.ts';
import type { DeliveryMetrics, DeliveryOutcome } from './metrics.ts';
import type { DeliveryBell } from './queue.ts';

/** Points of a delivery's way, for tests that end the process there. */
export type DeliveryFailpoint = 'claimed' | 'sending' | 'sent' | 'settled';

export interface DeliveryFailpoints {
  hit(name: DeliveryFailpoint): Promise<void> | void;
}

export interface WorkerParts {
  database: Database;
  clock: Clock;
  log: Logger;
  channels: Readonly<Record<Claimed['channel'], Channel>>;
  /** By lane: what is held is not claimed. */
  lanes: Holds;
  metrics: DeliveryMetrics;
  bell: DeliveryBell;
  failpoints?: DeliveryFailpoints | undefined;
}

export const WORKER_LIMITS = {
  /** Between looks, while nothing rings. */
  pollMs: 1000,
  /** What a killed worker held comes back after so long. */
  leaseMs: 20_000,
  renewMs: 5000,
  /** Deliveries in hand at once, in all and of one lane: one that is slow never takes all hands. */
  inHand: 64,
  perLane: { email: 6, push: 16 },
  /** At close: so long to come to an end, then what is left is given up, and so long for that. */
  drainMs: 5000,
  giveUpMs: 3000,
} as const;

/** Writing what came of an attempt is worth waiting for: what is not written is sent again. */
const SETTLE_TRIES = 6;
const SETTLE_PAUSE_MS = 500;

export class DeliveryWorker {
  readonly #parts: WorkerParts;
  readonly #inHand = new Map<number, Claimed>();
  readonly #underWay = new Set<Promise<void>>();
  /** Lanes of which more may be due than there was room for. */
  readonly #crowded = new Set<string>();
  /** Whether more may be due than there were hands for. */
  #full = false;
  readonly #cut = new AbortController();
  #closing = false;
  #loops: { claiming: Promise<void>; renewing: Promise<void> } | undefined;
  #rung = false;
  #wake: (() => void) | undefined;
  #endPause: (() => void) | undefined;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
  }

  /** Begins to work. What an earlier process left in an embedded database is due at once, elsewhere when its leases end. */
  async start(): Promise<void> {
    const { database, bell } = this.#parts;
    if (database.kind === 'pglite') {
      await database.change(async (tx) => ({ result: await releaseAll(tx), scopes: [] }));
    }
    bell.listen(this.#ring);
    this.#loops = { claiming: this.#claiming(), renewing: this.#renewing() };
  }

  /** Claims nothing more; what is in hand is finished, or released after a few seconds. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#ring();
    const { drainMs, giveUpMs } = WORKER_LIMITS;
    await this.#within(drainMs, this.#finished());
    this.#cut.abort();
    this.#endPause?.();
    await this.#within(giveUpMs, Promise.all([this.#finished(), this.#loops?.renewing]));
    if (this.#inHand.size > 0) {
      this.#parts.log.warn(
        { deliveries: this.#inHand.size },
        'deliveries are left in hand: they are due after their lease',
      );
    }
  }

  readonly #ring = (): void => {
    this.#rung = true;
    this.#wake?.();
  };

  async #claiming(): Promise<void> {
    while (!this.#closing) {
      this.#rung = false;
      try {
        await this.#claim();
      } catch (error) {
        this.#parts.log.warn({ err: error }, 'nothing could be claimed just now');
      }
      await this.#sleep(WORKER_LIMITS.pollMs);
    }
  }

  async #claim(): Promise<void> {
    const { database, failpoints } = this.#parts;
    const { inHand, perLane, leaseMs } = WORKER_LIMITS;
    const limit = inHand - this.#inHand.size;
    this.#full = limit === 0;
    if (limit === 0) return;
    const free = this.#freeOfLanes();
    const request = { limit, perLane, free, leaseMs };
    const { result } = await database.change(async (tx) => ({ result: await claimDue(tx, request), scopes: [] }));
    if (result.length === 0) return;
    this.#full = result.length === limit;
    for (const claimed of result) this.#inHand.set(claimed.id, claimed);
    await failpoints?.hit('claimed');
    this.#noteCrowded(result, free);
    for (const claimed of result) {
      const work = this.#deliver(claimed);
      this.#underWay.add(work);
      void work.finally(() => {
        this.#underWay.delete(work);
        if (this.#hasRoom(claimed)) this.#ring();
      });
    }
  }

  /** Whether it is time to claim more: not for each that goes, but when half of a lane's, or of all, are gone. */
  #hasRoom({ lane, channel }: Claimed): boolean {
    const { inHand, perLane } = WORKER_LIMITS;
    if (this.#full && this.#inHand.size <= inHand / 2) return true;
    if (!this.#crowded.has(lane)) return false;
    let left = 0;
    for (const other of this.#inHand.values()) if (other.lane === lane) left++;
    return left <= perLane[channel] / 2;
  }

  /** Room in the lanes that are in use or held; the others have all of theirs. */
  #freeOfLanes(): Map<string, number> {
    const { perLane } = WORKER_LIMITS;
    const free = new Map<string, number>();
    for (const { lane, channel } of this.#inHand.values()) {
      free.set(lane, (free.get(lane) ?? perLane[channel]) - 1);
    }
    for (const lane of this.#parts.lanes.held()) free.set(lane, 0);
    return free;
  }

  #noteCrowded(claimed: readonly Claimed[], free: ReadonlyMap<string, number>): void {
    this.#crowded.clear();
    const counts = Map.groupBy(claimed, ({ lane }) => lane);
    for (const [lane, [first, ...rest]] of counts) {
      const room = free.get(lane) ?? WORKER_LIMITS.perLane[first?.channel ?? 'email'];
      if (rest.length + 1 >= room) this.#crowded.add(lane);
    }
    for (const [lane, room] of free) if (room <= 0) this.#crowded.add(lane);
  }

  async #deliver(claimed: Claimed): Promise<void> {
    const { clock, log, failpoints, metrics } = this.#parts;
    const startedAt = clock.monotonic();
    try {
      await failpoints?.hit('sending');
      const attempt = await this.#attempt(claimed);
      await failpoints?.hit('sent');
      metrics.count(claimed.channel, outcomeOf(attempt), (clock.monotonic() - startedAt) / 1000);
      await this.#settle(claimed, attempt);
      await failpoints?.hit('settled');
    } catch (error) {
      // It is due again when its lease ends.
      log.error({ err: error, deliveryId: claimed.id }, 'a delivery could not be dealt with');
    } finally {
      this.#inHand.delete(claimed.id);
    }
  }

  /** A state that ends it before anything is tried, or what its channel makes of it. */
  async #attempt(claimed: Claimed): Promise<Attempt> {
    // Whoever was deactivated meanwhile gets nothing any more.
    if (!claimed.active) return failed('user_inactive', { attempted: false });
    if (claimed.expired || claimed.attempts > MAX_ATTEMPTS) return failed('expired', { attempted: false });
    return await this.#parts.channels[claimed.channel].attempt(claimed, this.#cut.signal);
  }

  async #settle(claimed: Claimed, attempt: Attempt): Promise<void> {
    const { database, clock, log } = this.#parts;
    for (let tries = 1; ; tries++) {
      try {
        const { used = [], gone = [] } = attempt;
        const { result } = await database.change(async (tx) => {
          const settled = await settleDelivery(tx, claimed, attempt);
          await noteResults(tx, { used, gone });
          return { result: settled, scopes: [] };
        });
        if (!result)
          log.warn({ deliveryId: claimed.id }, 'a delivery took longer than its lease; another worker has it');
        return;
      } catch (error) {
        if (tries >= SETTLE_TRIES) throw error;
        log.warn({ err: error, deliveryId: claimed.id }, 'what came of a delivery is not written yet');
        await new Promise<void>((resolve) => void clock.after(SETTLE_PAUSE_MS * 2 ** tries, resolve));
      }
    }
  }

  async #renewing(): Promise<void> {
    const { database, log } = this.#parts;
    const { leaseMs, renewMs } = WORKER_LIMITS;
    for (;;) {
      await this.#pause(renewMs);
      if (this.#cut.signal.aborted) return;
      const held = [...this.#inHand.values()];
      if (held.length === 0) continue;
      try {
        await database.change(async (tx) => ({ result: await renewLeases(tx, held, leaseMs), scopes: [] }));
      } catch (error) {
        log.warn({ err: error }, 'leases of deliveries were not renewed');
      }
    }
  }

  /** Until `ms` have passed or somebody rings. */
  async #sleep(ms: number): Promise<void> {
    if (this.#rung || this.#closing) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#parts.clock.after(ms, resolve);
    this.#wake = resolve;
    await promise;
    this.#wake = undefined;
    cancel();
  }

  /** Until `ms` have passed, or the worker has ended. */
  async #pause(ms: number): Promise<void> {
    if (this.#cut.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#parts.clock.after(ms, resolve);
    this.#endPause = resolve;
    await promise;
    cancel();
  }

  /** Nothing is claimed any more, and nothing is under way. */
  async #finished(): Promise<void> {
    await this.#loops?.claiming;
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  async #within(ms: number, work: Promise<unknown>): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = this.#parts.clock.after(ms, resolve);
    await Promise.race([work, late]);
    cancel();
  }
}

function outcomeOf({ sent, againInMs, attempted, error }: Attempt): DeliveryOutcome {
  if (sent) return 'sent';
  if (againInMs === null) return 'failed';
  return attempted && error !== null ? 'retried' : 'postponed';
}
