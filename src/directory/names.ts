/** Names of people: where they come from, and what the identity provider is asked for (docs/reference/people.md#names). */

import { hasForbiddenCharacters, isLongerThan } from '../base/grammar.ts';
import type { Tx } from '../persistence/database.ts';
import type { Names } from '../persistence/directory/profiles.ts';

export type { Names, NamesRule } from '../persistence/directory/profiles.ts';

/** Characters in a name at most; longer ones of other sources are not taken. */
export const MAX_NAME = 200;

/** A turn at somebody's names. */
export interface NameTurn {
  /** Ends it with the transaction that stores them. UNAVAILABLE where it took so long that another has had his turn: nothing is stored. */
  end(tx: Tx): Promise<void>;
}

/** The identity provider as the keeper of names. */
export interface NameDirectory {
  /**
   * Does `work`, which writes a person's names there and stores them here, while nobody else does, in this instance or another: in one
   * order at both. An instance that dies meanwhile is waited for half a minute. UNAVAILABLE after eight seconds in which another does
   * not come to an end; the signal's reason where that is aborted before it is one's turn.
   */
  inTurn<T>(person: number, signal: AbortSignal, work: (turn: NameTurn) => Promise<T>): Promise<T>;
  /**
   * Writes the names that are given (null clears one) to the user whose address this is, leaving the others as they are there.
   * Resolves when the provider has taken them. Rejects with IDP_UNREACHABLE, also when it is open whether it has, or with
   * IDP_REJECTED, also where it knows no such user: then nothing is stored here.
   */
  writeNames(email: string, names: Partial<Names>): Promise<void>;
}

/** A name of another source as it can be stored; undefined when it cannot, or is none. It never makes a call fail. */
export function storableName(name: string | null | undefined): string | undefined {
  if (typeof name !== 'string' || name.trim() === '') return undefined;
  return isLongerThan(name, MAX_NAME) || hasForbiddenCharacters(name) ? undefined : name;
}

/** What a source brought of names, without those that it left open. */
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
