/** One text over people, applications, roles and permissions. (docs/reference/administration.md#search.) */

import { sightIn } from '../administration/reach.ts';
import { readNames } from '../persistence/catalog/applications.ts';
import type { Database } from '../persistence/database.ts';
import { type FoundCode, searchCodes, searchUsers } from '../persistence/directory/search.ts';
import { folded } from '../persistence/people/folding.ts';
import { seenIds, type UserRow } from './users.ts';

export type { FoundCode } from '../persistence/directory/search.ts';

/** The best matches of each kind. */
export interface Found {
  people: readonly UserRow[];
  applications: readonly { code: string; name: string }[];
  roles: readonly FoundCode[];
  permissions: readonly FoundCode[];
}

/** The most of each kind. */
const MOST = 5;

export class Search {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The best matches among what the reader may see: the exact ones, then by the beginning, then those that contain the text. */
  find(reader: string, text: string): Promise<Found> {
    return this.#database.read(async (tx) => {
      const apps = seenIds(await sightIn(tx, reader, null), null);
      return {
        // They match, by a name that is not shown too.
        people: best(folded(text), await searchUsers(tx, text, apps, MOST), PART, ({ email, displayName }) => [
          email,
          folded(displayName ?? ''),
        ]),
        applications: best(text.toLowerCase(), await readNames(tx, apps), NO_MATCH, ({ code, name }) => [
          code,
          name.toLowerCase(),
        ]),
        roles: await searchCodes(tx, 'role', text, apps, MOST),
        permissions: await searchCodes(tx, 'permission', text, apps, MOST),
      };
    });
  }
}

/** Those with the text in one of their texts, the best first; equals by the first of the texts. `worst` is the rank of all others. */
function best<T>(sought: string, items: readonly T[], worst: number, textsOf: (item: T) => readonly string[]): T[] {
  return items
    .map((item) => {
      const texts = textsOf(item);
      return { item, rank: Math.min(worst, ...texts.map((one) => rankOf(one, sought))), key: texts[0] ?? '' };
    })
    .filter(({ rank }) => rank < NO_MATCH)
    .toSorted((one, other) => one.rank - other.rank || (one.key < other.key ? -1 : 1))
    .slice(0, MOST)
    .map(({ item }) => item);
}

const PART = 2;
const NO_MATCH = 3;

function rankOf(text: string, sought: string): number {
  if (text === sought) return 0;
  if (text.startsWith(sought)) return 1;
  return text.includes(sought) ? PART : NO_MATCH;
}
