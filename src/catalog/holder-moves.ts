/** What a change of the holders of a role changes for whom. */

import { type GrantWindow, isSameWindow, type WantedWindow, windowAfter } from '../administration/windows.ts';
import { certain } from '../base/certain.ts';
import type { UsherError } from '../base/errors.ts';
import { type FoundRole, holdersAmong } from '../persistence/catalog/assignments.ts';
import type { Tx } from '../persistence/database.ts';
import { holdPeople } from '../persistence/people/people.ts';
import type { Delegate } from './delegation.ts';
import { rolesOf } from './locked-roles.ts';

/** Somebody who is to hold a role, and when. */
export interface WantedHolder extends WantedWindow {
  readonly email: string;
}

/** Whom to give a role and from whom to take it; nobody is in both, or twice with different windows. */
export interface WantedHolders {
  readonly add: readonly WantedHolder[];
  readonly remove: readonly string[];
}

/** How many people were given the role, had its window changed, and lost it. */
export interface HoldersChanged {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** Somebody whose holding of a role changes; `person` is undefined for an unknown address. */
interface Move {
  email: string;
  person: number | undefined;
}

/** The same for somebody who is to hold it. */
interface Gift extends Move {
  /** Their place in the request. */
  at: number;
  wanted: WantedWindow;
  held: GrantWindow | null;
  after: GrantWindow;
}

export interface Moves {
  added: readonly Gift[];
  changed: readonly Gift[];
  removed: readonly Move[];
}

/** What the request changes. Locks everybody in it who has a row, against other writes about the same people. */
export async function movesOf(tx: Tx, app: number, role: FoundRole, { add, remove }: WantedHolders): Promise<Moves> {
  const people = await holdPeople(tx, [...add.map(({ email }) => email), ...remove]);
  const holding = await holdersAmong(tx, app, role.id, [...people.values()]);
  const placed = (email: string) => ({ email, person: people.get(email) });
  const heldBy = ({ person }: Move) => (person === undefined ? undefined : holding.get(person)) ?? null;
  const first = new Map(add.map(({ email }, at) => [email, at] as const).toReversed());
  const gifts = [...first].map(([email, at]): Gift => {
    const { email: _, ...wanted } = certain(add[at]);
    const move = placed(email);
    const held = heldBy(move);
    return { ...move, at, wanted, held, after: windowAfter(wanted, held) };
  });
  return {
    added: gifts.filter(({ held }) => held === null),
    changed: gifts.filter(({ held, after }) => held !== null && !isSameWindow(held, after)),
    removed: [...new Set(remove)].map(placed).filter((move) => heldBy(move) !== null),
  };
}

/** Why a delegate must not carry out these moves; null when they may. */
export async function refuseMoves(
  tx: Tx,
  delegate: Delegate,
  { appId, role, moves }: { appId: number; role: FoundRole; moves: Moves },
): Promise<UsherError | null> {
  const rolesBefore = async ({ person }: Move) => (await rolesOf(tx, appId, person ?? null)).roles;
  // A role whose window changes is given anew.
  for (const one of [...moves.added, ...moves.changed]) {
    const others = (await rolesBefore(one)).filter(({ id }) => id !== role.id);
    const refused = await delegate.refuseRoles(tx, one.email, others, [...others, role]);
    if (refused !== null) return refused;
  }
  for (const one of moves.removed) {
    const before = await rolesBefore(one);
    const rest = before.filter(({ id }) => id !== role.id);
    const refused = await delegate.refuseRoles(tx, one.email, before, rest);
    if (refused !== null) return refused;
  }
  return null;
}

export function personOf({ email, person }: Move): number {
  if (person === undefined) throw new Error(`person row of ${email} missing after it was created`);
  return person;
}
