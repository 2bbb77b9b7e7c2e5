/**
 * Pauses that push services ask for (docs/reference/notifications.md#throttled-pushes): a throttled subscription pauses alone. Only
 * when several of one service are throttled together the service itself pauses, shortly.
 */

import type { Clock } from '../base/clock.ts';
import type { PushTarget } from '../persistence/delivery/push-subscriptions.ts';
import { originOf } from './push.ts';

type Subscription = Pick<PushTarget, 'id' | 'endpoint'>;

/** Different subscriptions that pause their service for ORIGIN_MS when they were throttled within WITHIN_MS. */
const SUBSCRIPTIONS = 3;
const WITHIN_MS = 60_000;
const ORIGIN_MS = 60_000;
/** Beyond this number the oldest pauses are forgotten: their subscriptions are asked too early. */
const MAX_PAUSES = 50_000;
/** Users choose hosts below a push service's name. */
const MAX_ORIGINS = 1000;

export class PushPauses {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By subscription and by origin: the end of the pause, in monotonic milliseconds. */
  readonly #subscriptions = new Map<number, number>();
  readonly #origins = new Map<string, number>();
  /** By origin: when each subscription was throttled last. */
  readonly #throttled = new Map<string, Map<number, number>>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Milliseconds until the subscription may be pushed to; 0 when it may be now. */
  remaining(subscription: Subscription): number {
    const own = this.#subscriptions.get(subscription.id) ?? 0;
    const shared = this.#origins.get(originOf(subscription)) ?? 0;
    return Math.max(0, Math.max(own, shared) - this.#clock.monotonic());
  }

  /** Pauses the subscription. No success, there or elsewhere, ends it early. */
  pause({ id }: Subscription, ms: number): void {
    const until = Math.max(this.#subscriptions.get(id) ?? 0, this.#clock.monotonic() + ms);
    // The newest stand last.
    this.#subscriptions.delete(id);
    put(this.#subscriptions, id, until, MAX_PAUSES);
  }

  /** Pauses the subscription, because its service asked for it. Returns whether the service pauses from now on. */
  throttled(subscription: Subscription, ms: number): boolean {
    this.pause(subscription, ms);
    const now = this.#clock.monotonic();
    const origin = originOf(subscription);
    const recent = this.#throttled.get(origin) ?? new Map<number, number>();
    for (const [id, at] of recent) if (now - at > WITHIN_MS) recent.delete(id);
    recent.set(subscription.id, now);
    this.#throttled.delete(origin);
    put(this.#throttled, origin, recent, MAX_ORIGINS);
    if (recent.size < SUBSCRIPTIONS) return false;
    this.#throttled.delete(origin);
    put(this.#origins, origin, now + ORIGIN_MS, MAX_ORIGINS);
    return true;
  }
}

function put<K, V>(map: Map<K, V>, key: K, value: V, most: number): void {
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
