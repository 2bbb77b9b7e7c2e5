/**
 * The connections that a port may have. Half of them are for callers who have shown a right: those without one give way
 * to newcomers, the oldest of the address that holds most first (docs/operations/secure.md#limits-of-connections).
 */

/** Connections of one port. */
export interface SlotLimits {
  readonly all: number;
  /** Of those on which no right was shown. */
  readonly guests: number;
  /** Of one address, of IPv6 a /64. */
  readonly address: number;
}

/** Memory bounds those on which no right was shown, however many descriptors there are. */
const MOST_GUESTS = 1024;

export function slotLimits(all: number): SlotLimits {
  const guests = Math.max(1, Math.min(MOST_GUESTS, Math.floor(all / 2)));
  return { all, guests, address: Math.max(1, Math.ceil(all / 2)) };
}

/** The place of one connection. */
export interface Slot {
  /** A right was shown on it. */
  prove(): void;
  /** It is closed. */
  leave(): void;
}

/** An address with its connections; those on which no right was shown in their order. */
interface Place {
  count: number;
  readonly guests: Set<Held>;
}

interface Held extends Slot {
  readonly end: () => void;
}

export class ConnectionSlots {
  readonly limits: SlotLimits;
  readonly #refused: () => void;
  readonly #places = new Map<string, Place>();
  #count = 0;
  #guests = 0;

  /** @param refused is told of each connection that finds no room, or has to give way */
  constructor(limits: SlotLimits, refused: () => void) {
    this.limits = limits;
    this.#refused = refused;
  }

  get count(): number {
    return this.#count;
  }

  get guests(): number {
    return this.#guests;
  }

  /**
   * Null where there is no room.
   *
   * @param address null for one that says nothing of the caller: a socket file, a proxy
   * @param end closes the connection, which then leaves
   */
  enter(address: string | null, end: () => void): Slot | null {
    const name = address ?? '';
    const place = this.#places.get(name) ?? { count: 0, guests: new Set() };
    const { all, guests, address: most } = this.limits;
    if (address !== null && place.count >= most && !this.#giveWay(place)) return this.#refuse();
    if ((this.#guests >= guests || this.#count >= all) && !this.#giveWay(this.#largest())) return this.#refuse();
    const held = this.#hold(name, place, end);
    place.count++;
    place.guests.add(held);
    this.#places.set(name, place);
    this.#count++;
    this.#guests++;
    return held;
  }

  #refuse(): null {
    this.#refused();
    return null;
  }

  #hold(name: string, place: Place, end: () => void): Held {
    let isOpen = true;
    const prove = (): void => {
      if (place.guests.delete(held)) this.#guests--;
    };
    const held: Held = {
      end,
      prove,
      leave: () => {
        if (!isOpen) return;
        isOpen = false;
        prove();
        this.#count--;
        if (--place.count === 0) this.#places.delete(name);
      },
    };
    return held;
  }

  /** Ends the oldest of the place that has shown no right. Returns whether there was one. */
  #giveWay(place: Place | undefined): boolean {
    for (const oldest of place?.guests ?? []) {
      this.#refused();
      oldest.leave();
      oldest.end();
      return true;
    }
    return false;
  }

  #largest(): Place | undefined {
    let largest: Place | undefined;
    for (const place of this.#places.values()) {
      if (place.guests.size > (largest?.guests.size ?? 0)) largest = place;
    }
    return largest;
  }
}
