/**
 * Erasure of a person (docs/reference/people.md#erasure). Every right ends in the first transaction. What there may be any number of
 * follows in pieces, and a process that is killed meanwhile leaves no half: each piece is whole, and the next process goes on.
 */

import { createHmac } from 'node:crypto';
import { administer, type By, superAdmin } from '../administration/administer.ts';
import type { Clock } from '../base/clock.ts';
import { lazy } from '../base/lazy.ts';
import type { Logger } from '../base/telemetry.ts';
import { turn } from '../base/time-slice.ts';
import type { Committed, Database, Outcome, Tx } from '../persistence/database.ts';
import {
  beginErasure,
  continueErasure,
  countLater,
  type ErasureRow,
  findErasure,
  isMentioned,
  type Renaming,
  readErasure,
  removeRecords,
  removeRights,
  scopesOf,
  unfinishedErasures,
} from '../persistence/directory/erasure.ts';
import { holdPeopleAlone } from '../persistence/people/people.ts';
import { refuseLastSuperadmin } from '../persistence/people/superadmins.ts';
import { unknownUser } from './users.ts';

export type { ErasureRow, Removed } from '../persistence/directory/erasure.ts';

const PURPOSE = 'erased-person';
/** How often erasures are looked for that a killed process has begun. */
const RESUME_MS = 60_000;

interface ErasuresOptions {
  readonly database: Database;
  /** The installation's secret: 32 bytes for each purpose. */
  readonly secret: { derive(purpose: string): Promise<Buffer> };
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Pick<Logger, 'warn' | 'info'>;
}

/** What the first transaction has made: an erasure to go on with, or in a rehearsal its receipt. */
type Begun = { readonly id: number } | { readonly rehearsed: ErasureRow };

export class Erasures {
  readonly #options: ErasuresOptions;
  readonly #key: () => Promise<Buffer>;
  #cancel: () => void = () => undefined;
  #stopped = false;

  constructor(options: ErasuresOptions) {
    this.#options = options;
    this.#key = lazy(() => options.secret.derive(PURPOSE));
  }

  /**
   * Erases everything that is stored of the address, and resolves when nothing is left. NOT_FOUND for an address that is named nowhere
   * and was never erased; after an erasure its receipt, again. LAST_SUPERADMIN when no active SuperAdmin would be left.
   */
  async erase(email: string, by: By): Promise<Committed<ErasureRow>> {
    const { database } = this.#options;
    const renaming = { email, pseudonym: await this.pseudonymOf(email) };
    const about = {
      app: null,
      action: 'user.erased',
      guard: superAdmin('erase people'),
      subject: email,
      overrides: true,
    };
    const { result: begun, ...committed } = await administer<Begun>(database, by, about, async ({ tx, audit }) => {
      const isRehearsal = by.dryRun !== undefined;
      const { noted, ...outcome } = await this.#begin(tx, renaming, isRehearsal);
      if (noted) audit({ subject: renaming.pseudonym });
      return outcome;
    });
    if ('rehearsed' in begun) return { ...committed, result: begun.rehearsed };
    await this.#finish(begun.id);
    return { ...committed, result: await database.read((tx) => readErasure(tx, begun.id)) };
  }

  async #begin(tx: Tx, renaming: Renaming, isRehearsal: boolean): Promise<Outcome<Begun> & { noted: boolean }> {
    const { email, pseudonym } = renaming;
    await refuseLastSuperadmin(tx, email);
    const person = (await holdPeopleAlone(tx, [email])).get(email)?.id ?? null;
    if (person === null) {
      // In a statement of its own: another erasure may have been waited for.
      const earlier = await findErasure(tx, pseudonym);
      const isNew = earlier?.finished !== false && (await isMentioned(tx, email));
      if (earlier === undefined && !isNew) throw unknownUser(email);
      if (earlier !== undefined && !isNew) {
        const result = isRehearsal ? { rehearsed: await readErasure(tx, earlier.id) } : { id: earlier.id };
        return { result, scopes: [], noted: false };
      }
    }
    const scopes = person === null ? [] : await scopesOf(tx, person, email);
    const rights = person === null ? {} : await removeRights(tx, person);
    const records = await removeRecords(tx, person, email);
    const removed = { ...records, ...rights, people: person === null ? 0 : 1 };
    if (!isRehearsal) {
      return { result: { id: await beginErasure(tx, renaming, person, removed) }, scopes, noted: true };
    }
    // The row of the person stays: who gains and loses is compared by it.
    const counted = { ...removed, ...(await countLater(tx, person, email)) };
    const rehearsed = { pseudonym, removed: counted, startedAt: new Date(), finishedAt: null };
    return { result: { rehearsed }, scopes, noted: false };
  }

  /** What stands for an address in the audit: the same for every erasure while the installation's secret is the same. */
  async pseudonymOf(email: string): Promise<string> {
    const digest = createHmac('sha256', await this.#key())
      .update(email)
      .digest('hex');
    return `erased-${digest.slice(0, 32)}`;
  }

  async #finish(id: number): Promise<void> {
    for (let more = true; more; ) {
      const { result } = await this.#options.database.change(async (tx) => {
        return { result: await continueErasure(tx, id), scopes: [] };
      });
      more = result;
      // An embedded database works on this process's event loop: others have their turn between two pieces.
      await turn();
    }
  }

  /** Finishes the erasures that killed processes have begun; returns how many. */
  async resume(): Promise<number> {
    const ids = await this.#options.database.read(unfinishedErasures);
    for (const id of ids) await this.#finish(id);
    return ids.length;
  }

  /** Does so now and then, until `stop`. */
  watch(): void {
    if (this.#stopped) return;
    this.#cancel = this.#options.clock.after(RESUME_MS, () => void this.#resumeAgain());
  }

  async #resumeAgain(): Promise<void> {
    const { log } = this.#options;
    try {
      const erasures = await this.resume();
      if (erasures > 0) log.info({ erasures }, 'erasures of an ended process finished');
    } catch (error) {
      log.warn({ err: error }, 'unfinished erasures not continued; retrying in a minute');
    }
    this.watch();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }
}
