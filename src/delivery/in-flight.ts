/** The deliveries that a worker has claimed and not yet settled. More are claimed than attempted at once, so that attempts never wait for a claim. */

import { certain } from '../base/certain.ts';
import type { ChannelName } from '../base/channels.ts';
import type { Claimed } from '../persistence/delivery/claims.ts';
import type { ChannelKind } from './channels.ts';

/** A claimed delivery in a worker's memory. */
export interface Held extends Claimed {
  /** When the claim began, or the delivery was last read again; monotonic milliseconds. */
  claimedAt: number;
}

export interface InFlightLimits {
  /** Claimed and not yet settled, in all. */
  readonly total: number;
  /** Attempts under way at once, in all. */
  readonly atOnce: number;
  /** The same for one lane of the channel: a slow lane never uses up all places. `claimed` includes deliveries under way. */
  readonly perLane: Readonly<Record<ChannelName, ChannelKind<unknown>['perLane']>>;
}

interface Lane {
  readonly channel: ChannelName;
  readonly waiting: Held[];
  underWay: number;
  /** The last claim reached the lane's limit: more of it may be due. */
  crowded: boolean;
}

export class InFlight {
  readonly #limits: InFlightLimits;
  readonly #held = new Map<number, Held>();
  /** Lanes with claimed deliveries, the least recently served first. */
  readonly #lanes = new Map<string, Lane>();
  #underWay = 0;
  /** The last claim reached the total limit: more may be due. */
  #full = false;

  constructor(limits: InFlightLimits) {
    this.#limits = limits;
  }

  /** Claimed and not yet settled. */
  get size(): number {
    return this.#held.size;
  }

  get underWay(): number {
    return this.#underWay;
  }

  all(): Held[] {
    return [...this.#held.values()];
  }

  /** How many more may be claimed, in all and of the lanes in use. */
  room(): { limit: number; free: Map<string, number> } {
    const limit = this.#limits.total - this.#held.size;
    if (limit <= 0) this.#full = true;
    const free = new Map([...this.#lanes].map(([name, lane]) => [name, this.#freeOf(lane)]));
    return { limit: Math.max(0, limit), free };
  }

  /**
   * Adds the deliveries claimed for that room. One that is here already, because its lease ended unnoticed, continues under its new
   * claim: the same worker sends nothing twice.
   */
  take(claimed: readonly Held[], { limit, free }: { limit: number; free: ReadonlyMap<string, number> }): void {
    const counts = new Map<string, number>();
    for (const one of claimed) {
      counts.set(one.lane, (counts.get(one.lane) ?? 0) + 1);
      const held = this.#held.get(one.id);
      if (held !== undefined) {
        held.attempts = one.attempts;
        continue;
      }
      this.#held.set(one.id, one);
      let lane = this.#lanes.get(one.lane);
      if (lane === undefined) {
        lane = { channel: one.channel, waiting: [], underWay: 0, crowded: false };
        this.#lanes.set(one.lane, lane);
      }
      lane.waiting.push(one);
    }
    this.#full = claimed.length >= limit;
    for (const [name, lane] of this.#lanes) {
      lane.crowded = (counts.get(name) ?? 0) >= (free.get(name) ?? this.#limits.perLane[lane.channel].claimed);
    }
  }

  /** Starts the next delivery in turn; undefined when nothing waits or all places are taken. */
  next(): Held | undefined {
    if (this.#underWay >= this.#limits.atOnce) return undefined;
    for (const [name, lane] of this.#lanes) {
      if (lane.underWay >= this.#limits.perLane[lane.channel].underWay) continue;
      const held = lane.waiting.shift();
      if (held === undefined) continue;
      lane.underWay++;
      this.#underWay++;
      // The lane goes to the end of the queue: lanes take turns.
      this.#lanes.delete(name);
      this.#lanes.set(name, lane);
      return held;
    }
    return undefined;
  }

  /** Frees the place of an ended attempt before it is settled. Returns whether to claim again: half of a crowded lane is done. */
  ended({ lane: name }: Held): boolean {
    const lane = certain(this.#lanes.get(name));
    lane.underWay--;
    this.#underWay--;
    const left = lane.waiting.length + lane.underWay;
    if (left === 0) this.#lanes.delete(name);
    return lane.crowded && left <= this.#limits.perLane[lane.channel].claimed / 2;
  }

  /** Removes a settled delivery. Returns whether to claim again: half of all are done. */
  drop({ id }: Held): boolean {
    this.#held.delete(id);
    return this.#full && this.#held.size <= this.#limits.total / 2;
  }

  /** Takes the deliveries that have not started out of their lanes. They still have to be settled. */
  takeWaiting(): Held[] {
    const all = [...this.#lanes.values()].flatMap(({ waiting }) => waiting.splice(0));
    for (const [name, { underWay }] of this.#lanes) if (underWay === 0) this.#lanes.delete(name);
    return all;
  }

  #freeOf({ channel, waiting, underWay }: Lane): number {
    return this.#limits.perLane[channel].claimed - waiting.length - underWay;
  }
}
