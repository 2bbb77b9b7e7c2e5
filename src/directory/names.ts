/** Names of people: their sources, and the requests to the identity provider (docs/reference/people.md#names). */

import { hasForbiddenCharacters, isLongerThan } from '../base/grammar.ts';
import type { Tx } from '../persistence/database.ts';
import type { Names } from '../persistence/directory/profiles.ts';
import type { Subject } from '../persistence/people/accounts.ts';

export type { Names, NamesRule } from '../persistence/directory/profiles.ts';

/** Characters in a name at most; longer names from other sources are ignored. */
const MAX_NAME = 200;

/** Exclusive access to a person's names. */
export interface NameTurn {
  /** Ends the turn in the transaction that stores the names. UNAVAILABLE where the turn expired and went to another: nothing is stored. */
  end(tx: Tx): Promise<void>;
}

/** The identity provider as the owner of names. */
export interface NameDirectory {
  /**
   * Runs `work`, which writes a person's names there and stores them here, with exclusive access across all instances: so both sides
   * see changes in one order. The lease of an instance that dies expires after half a minute. UNAVAILABLE after waiting for eight
   * seconds; the signal's reason where it is aborted while waiting.
   */
  inTurn<T>(person: number, signal: AbortSignal, work: (turn: NameTurn) => Promise<T>): Promise<T>;
  /**
   * Writes the given names (null clears the displayed one) to the user of the account, else with its address, and leaves the others
   * unchanged. Resolves when the provider has accepted them. Rejects with IDP_UNREACHABLE, also when the outcome is unknown, or with
   * IDP_REJECTED, also where it has no such user: then nothing is stored here.
   */
  writeNames(account: Subject & { readonly email: string }, names: Partial<Names>): Promise<void>;
}

/** Whether a name from another source can be stored. */
export function isStorableName(name: string): boolean {
  return name.trim() !== '' && !isLongerThan(name, MAX_NAME) && !hasForbiddenCharacters(name);
}

/** A name from another source if it can be stored; otherwise undefined. An invalid name never fails a call. */
function storableName(name: string | null | undefined): string | undefined {
  return typeof name === 'string' && isStorableName(name) ? name : undefined;
}

/** The storable names of a source. */
export function storableNames(
  names: {
    [K in keyof Names]?: string | null | undefined;
  },
): Partial<Names> {
  const firstName = storableName(names.firstName);
  const lastName = storableName(names.lastName);
  const displayName = storableName(names.displayName);
  return {
    ...(firstName === undefined ? {} : { firstName }),
    ...(lastName === undefined ? {} : { lastName }),
    ...(displayName === undefined ? {} : { displayName }),
  };
}
