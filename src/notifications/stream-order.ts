/**
 * The streams of each user over all instances, in the order in which they were opened: what "an eleventh ends the oldest"
 * (docs/reference/notifications.md#inbox-stream) is decided by. Every instance keeps it for the users who read at it, from when the first of their streams was opened
 * there: what is older is older than all it has to end. All hear of streams in one order, so all agree on the oldest,
 * and whoever holds that one ends it.
 */

import type { StreamNews } from '../persistence/database.ts';
import type { StreamSession } from './stream-session.ts';

interface Place {
  readonly at: string;
  readonly number: number;
  /** Milliseconds since the epoch. An instance that is killed tells no end. */
  readonly expiresAt: number;
  /** Null at another instance. */
  readonly session: StreamSession | null;
  /** Whether its place is the same for all: of one that was opened here before that was heard. */
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

  /** One that was opened here gets its number. It is the newest, until it is heard of. */
  opened(session: StreamSession): void {
    const number = ++this.#last;
    session.number = number;
    const places = this.#places.get(session.email) ?? [];
    this.#places.set(session.email, places);
    places.push({ at: this.#self, number, expiresAt: session.expiresAt, session, heard: false });
    this.#trim(places);
  }

  /** One that ended here. */
  ended(session: StreamSession): void {
    const places = this.#places.get(session.email);
    if (places === undefined) return;
    this.#remove(places, this.#self, session.number);
    if (!places.some((place) => place.session !== null)) this.#places.delete(session.email);
  }

  /** What an instance told, this one included. */
  heard({ what, email, at, number, expiresAt }: StreamNews): void {
    const places = this.#places.get(email);
    if (places === undefined) return;
    const known = this.#remove(places, at, number);
    // One of ours that is over is told to be open, and over.
    if (what === 'ended' || (at === this.#self && known === undefined)) return;
    const place = known ?? { at, number, expiresAt: expiresAt * 1000, session: null, heard: true };
    place.heard = true;
    const after = places.findLastIndex((other) => other.heard) + 1;
    places.splice(after, 0, place);
    this.#trim(places);
  }

  /** Those of here that may not have been heard of. */
  *unheard(): Generator<StreamSession> {
    for (const places of this.#places.values())
      for (const { session, heard } of places) if (session !== null && !heard) yield session;
  }

  /** Forgets what must have ended elsewhere. */
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

  /** The oldest beyond the limit end: here by this, elsewhere by whoever holds them. */
  #trim(places: Place[]): void {
    for (const { session } of places.splice(0, Math.max(0, places.length - this.#limit))) session?.end();
  }
}
