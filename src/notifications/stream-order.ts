/**
 * The streams of each user over all instances, in opening order. It decides which stream an eleventh one ends
 * (docs/reference/notifications.md#inbox-stream). An instance tracks a user from the moment when the first of their streams opens
 * there. All instances receive the announcements in one order, so all agree on the oldest stream, and the instance that holds it
 * ends it.
 */

import type { StreamNews } from '../persistence/database.ts';
import type { StreamSession } from './stream-session.ts';

interface Place {
  readonly at: string;
  readonly number: number;
  /** Milliseconds since the epoch. Needed because a killed instance announces no end. */
  readonly expiresAt: number;
  /** Null for a stream of another instance. */
  readonly session: StreamSession | null;
  /** Whether its announcement has arrived, so that its position is the same at all instances. */
  heard: boolean;
}

export class StreamOrder {
  readonly #self: string;
  readonly #limit: number;
  readonly #places = new Map<string, Place[]>();
  #last = 0;

  /** @param limit streams that a user may have open */
  constructor(self: string, limit: number) {
    this.#self = self;
    this.#limit = limit;
  }

  /** Numbers a stream that was opened here. It counts as the newest until its announcement arrives. */
  opened(session: StreamSession): void {
    const number = ++this.#last;
    session.number = number;
    const places = this.#places.get(session.email) ?? [];
    this.#places.set(session.email, places);
    places.push({ at: this.#self, number, expiresAt: session.expiresAt, session, heard: false });
    this.#trim(places);
  }

  /** Removes a stream that ended here. */
  ended(session: StreamSession): void {
    const places = this.#places.get(session.email);
    if (places === undefined) return;
    this.#remove(places, this.#self, session.number);
    if (!places.some((place) => place.session !== null)) this.#places.delete(session.email);
  }

  /** Applies an announcement of any instance, including this one. */
  heard({ what, email, at, number, expiresAt }: StreamNews): void {
    const places = this.#places.get(email);
    if (places === undefined) return;
    const known = this.#remove(places, at, number);
    // The announcements of a local stream may arrive after its end.
    if (what === 'ended' || (at === this.#self && known === undefined)) return;
    const place = known ?? { at, number, expiresAt: expiresAt * 1000, session: null, heard: true };
    place.heard = true;
    const after = places.findLastIndex((other) => other.heard) + 1;
    places.splice(after, 0, place);
    this.#trim(places);
  }

  /** Local streams whose announcement has not arrived yet. */
  *unheard(): Generator<StreamSession> {
    for (const places of this.#places.values())
      for (const { session, heard } of places) if (session !== null && !heard) yield session;
  }

  /** Forgets streams of other instances after their expiry. */
  forgetExpired(now: number): void {
    for (const [email, places] of this.#places) {
      if (!places.some(({ session, expiresAt }) => session === null && expiresAt <= now)) continue;
      this.#places.set(
        email,
        places.filter(({ session, expiresAt }) => session !== null || expiresAt > now),
      );
    }
  }

  #remove(places: Place[], at: string, number: number): Place | undefined {
    const index = places.findIndex((place) => place.number === number && place.at === at);
    return index < 0 ? undefined : places.splice(index, 1)[0];
  }

  /** Drops the oldest beyond the limit. Ends those of this instance; the others are ended by their own. */
  #trim(places: Place[]): void {
    for (const { session } of places.splice(0, Math.max(0, places.length - this.#limit))) session?.end();
  }
}
