/** The deliveries that a worker has claimed and not yet settled. It claims more than are under way, so that no place waits for a claim. */

import type { ChannelName } from '../base/channels.ts';
import type { Claimed } from '../persistence/delivery/claims.ts';
import type { ChannelKind } from './channels.ts';

/** A claimed delivery in a worker's memory. */
export interface Held extends Claimed {
  /** When its claim began, or it was read again, in monotonic milliseconds. */
  claimedAt: number;
}

export interface InFlightLimits {
  /** Claimed and not yet settled, in all. */
  readonly total: number;
  /** Attempts under way at once, in all. */
  readonly atOnce: number;
  /** Of one lane of that channel: a slow lane never takes all places. `claimed` counts what waits and what is under way. */
  readonly perLane: Readonly<Record<ChannelName, ChannelKind<unknown>['perLane']>>;
}

interface Lane {
  readonly channel: ChannelName;
  readonly waiting: Held[];
  underWay: number;
  /** Whether more of it may be due than there was room for. */
  crowded: boolean;
}

export class InFlight {
  readonly #limits: InFlightLimits;
  readonly #held = new Map<number, Held>();
  /** Lanes with something waiting or under way; the one that was served longest ago comes first. */
  readonly #lanes = new Map<string, Lane>();
  #underWay = 0;
  /** Whether more may be due than there was room for in all. */
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
   * Adds what was claimed for that room. A delivery that is here already (its lease had ended unnoticed) goes on under its new claim:
   * the same worker sends nothing twice.
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

  /** The next delivery in turn, which counts as under way from now on; undefined when none waits, or no place is free. */
  next(): Held | undefined {
    if (this.#underWay >= this.#limits.atOnce) return undefined;
    for (const [name, lane] of this.#lanes) {
      if (lane.underWay >= this.#limits.perLane[lane.channel].underWay) continue;
      const held = lane.waiting.shift();
      if (held === undefined) continue;
      lane.underWay++;
      this.#underWay++;
      // To the end of the queue: lanes take turns.
      this.#lanes.delete(name);
      this.#lanes.set(name, lane);
      return held;
    }
    return undefined;
  }

  /** Its attempt has ended; it is not settled yet. Answers whether it is time to claim: half of a crowded lane is done. */
  ended({ lane: name }: Held): boolean {
    const lane = this.#lanes.get(name) as Lane;
    lane.underWay--;
    this.#underWay--;
    const left = lane.waiting.length + lane.underWay;
    if (left === 0) this.#lanes.delete(name);
    return lane.crowded && left <= this.#limits.perLane[lane.channel].claimed / 2;
  }

  /** It is settled. Answers whether it is time to claim: half of all are done. */
  drop({ id }: Held): boolean {
    this.#held.delete(id);
    return this.#full && this.#held.size <= this.#limits.total / 2;
  }

  /** Takes those out of their lanes that have not begun; they are not settled yet. */
  unbegun(): Held[] {
    const all = [...this.#lanes.values()].flatMap(({ waiting }) => waiting.splice(0));
    for (const [name, { underWay }] of this.#lanes) if (underWay === 0) this.#lanes.delete(name);
    return all;
  }

  #freeOf({ channel, waiting, underWay }: Lane): number {
    return this.#limits.perLane[channel].claimed - waiting.length - underWay;
  }
}
