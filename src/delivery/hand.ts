/** What a worker has in hand: claimed, and not yet settled. More is claimed than is under way, so that nobody waits for a claim. */

import type { Claimed } from '../persistence/delivery/claims.ts';

/** A claim as a worker holds it. */
export interface Held extends Claimed {
  /** Monotonic milliseconds at which its claim began, or it was read anew: what was read later is as new as it is. */
  claimedAt: number;
}

export interface HandLimits {
  /** Claimed and not yet settled, in all. */
  readonly inHand: number;
  /** Of one lane: waiting and under way. */
  readonly claimed: Readonly<Record<Claimed['channel'], number>>;
  /** Attempts under way at once, in all. */
  readonly atOnce: number;
  /** Of one lane: one that is slow never takes all places. */
  readonly perLane: Readonly<Record<Claimed['channel'], number>>;
}

interface Lane {
  readonly channel: Claimed['channel'];
  readonly waiting: Held[];
  underWay: number;
  /** More of it may be due than there was room for. */
  crowded: boolean;
}

export class Hand {
  readonly #limits: HandLimits;
  readonly #held = new Map<number, Held>();
  /** Those that have something waiting or under way; the one whose turn is longest ago first. */
  readonly #lanes = new Map<string, Lane>();
  #underWay = 0;
  /** More may be due than there was room for in all. */
  #full = false;

  constructor(limits: HandLimits) {
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
    const limit = this.#limits.inHand - this.#held.size;
    if (limit <= 0) this.#full = true;
    const free = new Map([...this.#lanes].map(([name, lane]) => [name, this.#freeOf(lane)]));
    return { limit: Math.max(0, limit), free };
  }

  /**
   * Takes what was claimed for that room. One that is held already (its lease had ended unnoticed) stays as it is under its new
   * claim: nothing is sent twice by the same worker.
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
      lane.crowded = (counts.get(name) ?? 0) >= (free.get(name) ?? this.#limits.claimed[lane.channel]);
    }
  }

  /** The next whose turn it is, which is under way from now on; undefined when there is none, or no place. */
  next(): Held | undefined {
    if (this.#underWay >= this.#limits.atOnce) return undefined;
    for (const [name, lane] of this.#lanes) {
      if (lane.underWay >= this.#limits.perLane[lane.channel]) continue;
      const held = lane.waiting.shift();
      if (held === undefined) continue;
      lane.underWay++;
      this.#underWay++;
      // The lanes take turns.
      this.#lanes.delete(name);
      this.#lanes.set(name, lane);
      return held;
    }
    return undefined;
  }

  /** It is under way no more, and still in hand. Whether it is time to claim: when half of its lane, or of all, are gone. */
  ended({ lane: name }: Held): boolean {
    const lane = this.#lanes.get(name) as Lane;
    lane.underWay--;
    this.#underWay--;
    const left = lane.waiting.length + lane.underWay;
    if (left === 0) this.#lanes.delete(name);
    return lane.crowded && left <= this.#limits.claimed[lane.channel] / 2;
  }

  /** It is settled. Whether it is time to claim. */
  drop({ id }: Held): boolean {
    this.#held.delete(id);
    return this.#full && this.#held.size <= this.#limits.inHand / 2;
  }

  /** What has not begun, taken out of its lanes; it is still in hand. */
  unbegun(): Held[] {
    const all = [...this.#lanes.values()].flatMap(({ waiting }) => waiting.splice(0));
    for (const [name, { underWay }] of this.#lanes) if (underWay === 0) this.#lanes.delete(name);
    return all;
  }

  #freeOf({ channel, waiting, underWay }: Lane): number {
    return this.#limits.claimed[channel] - waiting.length - underWay;
  }
}
