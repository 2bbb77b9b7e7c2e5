/** The roles of people who are locked against other writes. */

import { type AssignedRole, readUserRoles } from '../persistence/catalog/assignments.ts';
import type { Tx } from '../persistence/database.ts';
import { ensurePeople, holdPerson } from '../persistence/people/people.ts';

/** The roles of a locked person, or of an unknown one. */
export async function rolesOf(
  tx: Tx,
  app: number,
  person: number | null,
): Promise<LockedRoles | { person: null; roles: readonly [] }> {
  return person === null ? { person, roles: [] } : { person, roles: await readUserRoles(tx, app, person) };
}

/** A person locked against other writes, and their roles. */
export interface LockedRoles {
  person: number;
  roles: readonly AssignedRole[];
}

export async function makeAndHold(tx: Tx, app: number, email: string): Promise<LockedRoles> {
  await ensurePeople(tx, [email]);
  const held = await rolesOf(tx, app, await holdPerson(tx, email));
  if (held.person === null) throw new Error('person row missing after it was created');
  return held;
}
