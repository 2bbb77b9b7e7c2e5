/** Everything that is stored of one person, as one document (docs/reference/people.md#export). */

import { UsherError } from '../base/errors.ts';
import { LEVEL_NAMES, type LevelName } from '../base/level-names.ts';
import type { Level } from '../engine/types.ts';
import { type FoundRecords, readAudit } from '../persistence/audit.ts';
import type { Database, Tx } from '../persistence/database.ts';
import {
  isStill,
  nextEvents,
  nextNotifications,
  nextOverrides,
  type OverridePlace,
  type PersonalOverride,
  type PersonalRecord,
  readPersonalRecord,
} from '../persistence/directory/personal-data.ts';
import { unknownUser } from './users.ts';

/** Audit records of one statement: each may hold two long texts. */
const RECORDS = 50;

const BEFORE_ALL: OverridePlace = [0, '', '', 0];

export interface PersonalOverrideView extends Pick<PersonalOverride, 'startsAt' | 'endsAt'> {
  appCode: string;
  resourceType: string;
  resourceId: string;
  permission: string;
  granted: boolean;
  accessLevel: LevelName;
  since: string;
}

/** A list of the document, in pages of rows that are written as JSON already. */
type Pages = AsyncIterable<readonly string[]>;

export class PersonalData {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The document in pieces, of which a few are in memory at a time. Rejects with NOT_FOUND for an unknown address. What is stored once
   * is of one snapshot, and long lists end where they ended then: a reader may take minutes, and no transaction may. The pieces end
   * with an error when the person was erased meanwhile: what was read until then must not pass for the whole.
   */
  async export(email: string): Promise<AsyncIterable<string>> {
    const found = await this.#database.read((tx) => readPersonalRecord(tx, email));
    if (found === undefined) throw unknownUser(email);
    return this.#document(found);
  }

  async *#document(found: PersonalRecord): AsyncGenerator<string> {
    const { newestNotification, newestEvent, readAt, ...person } = found;
    yield `{"exportedAt":${JSON.stringify(readAt)},"person":${JSON.stringify(person)}`;
    yield* listOf('overrides', this.#overrides(person.id));
    yield* listOf('events', this.#events(person.id, newestEvent));
    yield* listOf('notifications', this.#notifications(person.id, newestNotification));
    yield* listOf('audit', this.#audit(person.email, new Date(readAt)));
    if (!(await this.#database.read((tx) => isStill(tx, person)))) {
      throw new UsherError('UNAVAILABLE', 'The person was erased during the export.');
    }
    yield '}\n';
  }

  async *#overrides(person: number): Pages {
    for (let after: OverridePlace | null = BEFORE_ALL; after !== null; ) {
      const place: OverridePlace = after;
      const { rows, behind } = await this.#read((tx) => nextOverrides(tx, person, place));
      yield rows.map(({ level, ...row }) => {
        const view: PersonalOverrideView = { ...row, granted: level !== 0, accessLevel: LEVEL_NAMES[level as Level] };
        return JSON.stringify(view);
      });
      after = behind;
    }
  }

  async *#events(person: number, last: number): Pages {
    for (let after = 0; ; ) {
      const rows = await this.#read((tx) => nextEvents(tx, person, after, last));
      const end = rows.at(-1);
      if (end === undefined) return;
      yield rows.map(({ id: _id, ...row }) => JSON.stringify(row));
      after = end.id;
    }
  }

  async *#notifications(person: number, last: number): Pages {
    for (let after = 0; ; ) {
      const rows = await this.#read((tx) => nextNotifications(tx, person, after, last));
      const end = rows.at(-1);
      if (end === undefined) return;
      yield rows.map(({ json }) => json);
      after = end.id;
    }
  }

  /** By and about the person, the newest first. */
  async *#audit(person: string, to: Date): Pages {
    for (let after: number | null = null; ; ) {
      const place: number | null = after;
      const { rows }: FoundRecords = await this.#read((tx) =>
        readAudit(tx, { person, to }, { limit: RECORDS, after: place }),
      );
      const end = rows.at(-1);
      if (end === undefined) return;
      yield rows.map((row) => JSON.stringify(row));
      after = end.id;
    }
  }

  #read<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#database.read(fn);
  }
}

/** A member of the document. */
async function* listOf(name: string, pages: Pages): AsyncGenerator<string> {
  yield `,${JSON.stringify(name)}:[`;
  let separator = '';
  for await (const rows of pages) {
    if (rows.length === 0) continue;
    yield separator + rows.join(',');
    separator = ',';
  }
  yield ']';
}
