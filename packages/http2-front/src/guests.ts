/**
 * Connections on which no right key was ever shown. All of them together may make the service keep a bounded number of bytes,
 * and get a bounded part of each turn of the event loop: however many they are, those who have shown a right are served beside
 * them (docs/operations/secure.md#limits-of-connections).
 */

const MIB = 1024 * 1024;

/** Bytes that are kept for a connection, for an address (of IPv6 a /64), and in all. */
export const GUEST_BYTES = { connection: 2 * MIB, address: 8 * MIB, all: 16 * MIB } as const;
type GuestLimits = { readonly [Limit in keyof typeof GUEST_BYTES]: number };

/** Bytes of frames, or work that costs as much, of all guests in a turn of the event loop: a millisecond or two. */
const TURN_BYTES = 65_536;
/** Of one of them in a turn. */
export const GUEST_TURN_BYTES = 4096;
/** What a connection costs that sends nothing more: its socket, and what belongs to it. */
export const GUEST_COST = 8192;

export class Guests {
  readonly #limits: GuestLimits;
  readonly #turnBytes: number;
  readonly #overweight: () => void;
  readonly #guests = new Set<Guest>();
  readonly #byAddress = new Map<string, number>();
  #all = 0;
  /** What they may still spend in this turn. Below zero, it is taken from the next ones. */
  #left: number;
  #isRenewing = false;
  /** Those who wait for the next turn, in their order. */
  readonly #waiting = new Set<() => void>();

  /** @param overweight is told of each that is ended for what it keeps */
  constructor(overweight: () => void, limits: GuestLimits = GUEST_BYTES, turnBytes = TURN_BYTES) {
    this.#overweight = overweight;
    this.#limits = limits;
    this.#turnBytes = turnBytes;
    this.#left = turnBytes;
  }

  get bytes(): number {
    return this.#all;
  }

  get size(): number {
    return this.#guests.size;
  }

  get mostBytes(): number {
    return this.#limits.connection;
  }

  enter(address: string, connection: GuestConnection): Guest {
    const guest = new Guest(this, address, connection);
    this.#guests.add(guest);
    return guest;
  }

  weigh(guest: Guest, bytes: number): void {
    const { address, weight } = guest;
    const more = bytes - weight;
    guest.weight = bytes;
    this.#all += more;
    const together = (this.#byAddress.get(address) ?? 0) + more;
    if (together === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, together);
    if (more <= 0) return;
    if (bytes > this.#limits.connection) this.#end(guest);
    else if (together > this.#limits.address) this.#endHeaviest((one) => one.address === address);
    else if (this.#all > this.#limits.all) this.#endHeaviest(() => true);
  }

  leave(guest: Guest): void {
    if (!this.#guests.delete(guest)) return;
    this.weigh(guest, 0);
  }

  /** The lightest are let be: callers that have just come. */
  #endHeaviest(among: (guest: Guest) => boolean): void {
    let heaviest: Guest | undefined;
    for (const one of this.#guests) {
      if (among(one) && one.weight > (heaviest?.weight ?? 0)) heaviest = one;
    }
    if (heaviest !== undefined) this.#end(heaviest);
  }

  #end(guest: Guest): void {
    this.#overweight();
    this.leave(guest);
    guest.end();
  }

  get mustWait(): boolean {
    return this.#left <= 0;
  }

  spend(bytes: number): void {
    this.#left -= bytes;
    if (!this.#isRenewing) this.#renewLater();
  }

  /** Calls `goOn` in a turn that has something left. */
  wait(goOn: () => void): void {
    this.#waiting.add(goOn);
  }

  #renewLater(): void {
    this.#isRenewing = true;
    setImmediate(() => {
      this.#isRenewing = false;
      this.#left = Math.min(this.#turnBytes, this.#left + this.#turnBytes);
      for (const goOn of this.#waiting) {
        if (this.#left <= 0) break;
        this.#waiting.delete(goOn);
        goOn();
      }
      if (this.#left < this.#turnBytes && !this.#isRenewing) this.#renewLater();
    });
  }
}

/** The connection of a guest. */
export interface GuestConnection {
  end(): void;
  /** Told when a right was shown. */
  readonly proved?: (() => void) | undefined;
}

export class Guest {
  readonly #guests: Guests;
  readonly #connection: GuestConnection;
  readonly address: string;
  weight = 0;

  constructor(guests: Guests, address: string, connection: GuestConnection) {
    this.#guests = guests;
    this.address = address;
    this.#connection = connection;
  }

  end(): void {
    this.#connection.end();
  }

  /** A right was shown. */
  prove(): void {
    this.leave();
    this.#connection.proved?.();
  }

  get mustWait(): boolean {
    return this.#guests.mustWait;
  }

  /** What its connection keeps now. May end it, or another one. */
  weigh(bytes: number): void {
    this.#guests.weigh(this, bytes);
  }

  spend(bytes: number): void {
    this.#guests.spend(bytes);
  }

  wait(goOn: () => void): void {
    this.#guests.wait(goOn);
  }

  /** It is gone. */
  leave(): void {
    this.#guests.leave(this);
  }
}
