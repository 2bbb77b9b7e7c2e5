/** A person gets another address, with everything that they have (docs/reference/people.md#moving). */

import { administer, type By, superAdmin } from '../administration/administer.ts';
import { refuseField } from '../administration/records.ts';
import { UsherError } from '../base/errors.ts';
import type { Committed, Database, Scope, Tx } from '../persistence/database.ts';
import { isTaken, movePerson } from '../persistence/directory/moving.ts';
import { readHoldings } from '../persistence/directory/offboarding.ts';
import { holdPeopleAlone, personIdOf } from '../persistence/people/people.ts';
import { unknownUser } from './users.ts';

const ACTION = 'user.moved';

export interface Moved {
  /** The address before, which stays, inactive. */
  email: string;
  movedTo: string;
}

export class Moving {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Moves roles, overrides, seats, being a SuperAdmin, profile, preferences, subscriptions, inbox and accounts, in one transaction and one
   * change of the policy: no question is answered by half of it. NOT_FOUND for an unknown address, VALIDATION_FAILED for the same one,
   * TARGET_NOT_EMPTY where `to` has a right, or an account of another user.
   */
  move(email: string, to: string, by: By): Promise<Committed<Moved>> {
    if (email === to) refuseField('to', 'must be another address');
    const also = async (tx: Tx) => {
      const person = await personIdOf(tx, email);
      const holdings = person === null ? [] : await readHoldings(tx, person);
      return [{ apps: holdings.map(({ code }) => code), people: [to], overrides: true }];
    };
    const guard = superAdmin('move people');
    const about = { app: null, action: ACTION, guard, subject: email, overrides: true, also };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const held = await holdPeopleAlone(tx, [email, to]);
      const from = held.get(email)?.id;
      if (from === undefined) throw unknownUser(email);
      const replaced = held.get(to)?.id ?? null;
      if (replaced !== null && (await isTaken(tx, replaced, from))) throw notEmpty(to);
      const holdings = await readHoldings(tx, from);
      await movePerson(tx, { from, email, to, replaced });
      audit({ action: ACTION, subject: email, before: { email }, after: { movedTo: to } });
      audit({ action: ACTION, subject: to, before: { movedFrom: email }, after: { email: to } });
      const people = [email, to];
      const members = holdings.flatMap(({ code }) => people.map((one): Scope => `m:${code}:${one}`));
      return { result: { email, movedTo: to }, scopes: [...people.map((one): Scope => `u:${one}`), ...members] };
    });
  }
}

function notEmpty(to: string): UsherError {
  return new UsherError(
    'TARGET_NOT_EMPTY',
    `${to} has a role, an override, a seat or an account of its own: take these away first, or move nobody there.`,
    { details: { path: 'to' } },
  );
}
