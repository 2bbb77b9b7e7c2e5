/** A person leaves: blocked, without rights, their applications in other hands, their data kept (docs/reference/people.md#offboarding). */

import { administer, type By, superAdmin } from '../administration/administer.ts';
import { refuseField } from '../administration/records.ts';
import { UsherError } from '../base/errors.ts';
import { recordAll } from '../persistence/audit.ts';
import type { Committed, Database, Tx } from '../persistence/database.ts';
import { type RemovedRights, removeRights } from '../persistence/directory/erasure.ts';
import {
  administeredBy,
  type Holding,
  handOverAdministration,
  readHoldings,
} from '../persistence/directory/offboarding.ts';
import { setBlocked } from '../persistence/directory/users.ts';
import { holdPeopleAlone } from '../persistence/people/people.ts';
import { refuseLastSuperadmin } from '../persistence/people/superadmins.ts';
import { unknownUser } from './users.ts';

const ACTION = 'user.offboarded';

export interface Offboarded {
  email: string;
  removed: RemovedRights;
  /** The codes of the applications that the other person administers from now on, and did not before. */
  handedOver: string[];
}

export class Offboarding {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Blocks the person and ends every right, in one transaction; `handOverTo` becomes an administrator of the same applications.
   * NOT_FOUND for an unknown address, UNKNOWN_REFERENCE for an unknown successor, VALIDATION_FAILED for one who is inactive or the
   * person, LAST_SUPERADMIN when no active SuperAdmin would be left. Repeated it changes nothing.
   */
  offboard(email: string, handOverTo: string | null, by: By): Promise<Committed<Offboarded>> {
    const also = async (tx: Tx) => {
      if (handOverTo === null) return [];
      return [{ apps: await administeredBy(tx, email), people: [handOverTo], overrides: false }];
    };
    const guard = superAdmin('offboard people');
    const about = { app: null, action: ACTION, guard, subject: email, overrides: true, also };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      // SuperAdmins before people: the same lock order as the removal of one.
      await refuseLastSuperadmin(tx, email);
      const { person, successor } = await holdBoth(tx, email, handOverTo);
      const holdings = await readHoldings(tx, person);
      const handedOver = successor === null ? [] : await handOverAdministration(tx, person, successor);
      const removed = await removeRights(tx, person);
      const isBlocked = await setBlocked(tx, person, true);
      const result = { email, removed, handedOver };
      if (!isBlocked && holdings.length === 0 && removed.superadmins === 0) return { result, scopes: [] };
      const to = handOverTo === null ? {} : { handedOverTo: handOverTo };
      await recordAll(
        tx,
        holdings.map((holding) => recordOf(holding, handedOver.includes(holding.code) ? to : {}, email, by)),
      );
      audit({ action: ACTION, subject: email, before: { ...removed }, after: { blocked: true, ...to, handedOver } });
      const scopes = [
        `u:${email}` as const,
        ...holdings.map(({ code }) => `m:${code}:${email}` as const),
        ...handedOver.map((code) => `m:${code}:${handOverTo}` as const),
      ];
      return { result, scopes };
    });
  }
}

/** The administrators of an application find what happened in its own audit. */
function recordOf({ code, windows, ...held }: Holding, after: { handedOverTo?: string }, email: string, by: By) {
  const actor = `user:${by.caller.email}`;
  const { requestId, reason } = by;
  const before = windows.length === 0 ? held : { ...held, windows };
  return { actor, action: ACTION, appCode: code, subject: email, before, after, requestId, reason };
}

async function holdBoth(
  tx: Tx,
  email: string,
  handOverTo: string | null,
): Promise<{ person: number; successor: number | null }> {
  if (handOverTo === email) refuseField('handOverTo', 'must be another person');
  const held = await holdPeopleAlone(tx, handOverTo === null ? [email] : [email, handOverTo]);
  const person = held.get(email)?.id;
  if (person === undefined) throw unknownUser(email);
  if (handOverTo === null) return { person, successor: null };
  const successor = held.get(handOverTo);
  if (successor === undefined) {
    const message = `handOverTo: there is no user ${handOverTo}.`;
    throw new UsherError('UNKNOWN_REFERENCE', message, { details: { path: 'handOverTo' } });
  }
  if (!successor.active) refuseField('handOverTo', 'must be an active person');
  return { person, successor: successor.id };
}
