/**
 * What every administrative write has in common (docs/reference/callers.md#guards-of-writes): its guard is decided on rows of its own transaction, its
 * audit record is written in it, and a refused one leaves a record too.
 */

import { UsherError } from '../base/errors.ts';
import { evaluateRows } from '../engine/evaluate.ts';
import { Level, type MemberAnswer } from '../engine/types.ts';
import type { AuditEntry } from '../persistence/audit.ts';
import { findApplicationId, holdApplication, holdApplicationAlone } from '../persistence/catalog/applications.ts';
import type { Committed, Database, Outcome, Tx } from '../persistence/database.ts';
import { memberIn, policyIn } from '../persistence/facts/source.ts';
import { managedResource, PANEL_APP, PANEL_ENTRY, PANEL_MANAGE } from './panel.ts';

/** Who writes: a signed-in administrator, by a request. What a route's handler is given fits. */
export interface By {
  readonly caller: { readonly email: string };
  readonly requestId: string;
}

/** Decides on fresh rows; answers why not, or null. */
export type WriteGuard = (tx: Tx, email: string) => Promise<UsherError | null>;

/** An active SuperAdmin; `act` completes "Only a SuperAdmin may …". */
export function superAdmin(act: string): WriteGuard {
  return async (tx, email) => {
    const { person } = await who(tx, email, '');
    if (!person.active) return inactive();
    return person.superadmin ? null : new UsherError('FORBIDDEN', `Only a SuperAdmin may ${act}.`);
  };
}

/** A SuperAdmin, or a panel user who manages all applications: who creates and deletes them (docs/reference/administration.md#guards). */
export function managerOfAll(act: string): WriteGuard {
  return async (tx, email) => {
    const { person } = await who(tx, email, '');
    if (!person.active) return inactive();
    if (person.superadmin || (await managesByPanel(tx, email, null))) return null;
    return new UsherError('FORBIDDEN', `Only users who manage every application may ${act}.`);
  };
}

/**
 * A SuperAdmin, an AppAdmin of `app`, or a panel user with level `edit` on it. In `auth` only SuperAdmins: who rules `auth`
 * rules everything. An application that does not exist is like a foreign one.
 */
export function editorOf(app: string): WriteGuard {
  return async (tx, email) => {
    const { person, member } = await who(tx, email, app);
    if (!person.active) return inactive();
    if (person.superadmin) return null;
    const may = app !== PANEL_APP && member.appId !== null && (member.admin || (await managesByPanel(tx, email, app)));
    return may
      ? null
      : new UsherError('NO_APPLICATION_LEVEL', 'You have no level that allows this on the application.');
  };
}

/** Who passes each of them; the first that refuses says why. */
export function allOf(...guards: readonly WriteGuard[]): WriteGuard {
  return async (tx, email) => {
    for (const guard of guards) {
      const refused = await guard(tx, email);
      if (refused !== null) return refused;
    }
    return null;
  };
}

/** Whether somebody who may enter the panel holds `edit` on an application there; of all of them where `app` is null. */
export async function managesByPanel(tx: Tx, email: string, app: string | null): Promise<boolean> {
  const policy = await policyIn(tx, PANEL_APP);
  const entry = await who(tx, email, PANEL_APP);
  if (!evaluateRows(policy, entry, PANEL_ENTRY).granted) return false;
  const managed = await memberIn(tx, { email, app: PANEL_APP, ...managedResource(app) });
  return evaluateRows(policy, managed, PANEL_MANAGE).level >= Level.EDIT;
}

function who(tx: Tx, email: string, app: string): Promise<MemberAnswer> {
  return memberIn(tx, { email, app, resourceType: '', resourceId: '' });
}

function inactive(): UsherError {
  return new UsherError('USER_INACTIVE', 'This account is not active.');
}

/** What a write hands its audit record, beside who, where and by which request. */
export type Change = Pick<AuditEntry, 'action' | 'subject' | 'before' | 'after'>;

/** What a write inside `administer` gets: the transaction, and the audit of this very write. */
export interface Administration {
  readonly tx: Tx;
  /** Keeps the record for the end of the transaction: it is written with the commit, or not at all. */
  readonly audit: (change: Change) => void;
}

/**
 * Runs `write` when `guard` lets `by` do it. `about.action` names the write for the audit of a refusal; `about.app` is the
 * application it concerns, `about.subject` the address of the person whom it is about. Throws what the guard says (after its record is committed) or what `write` throws.
 * A write whose guard needs rows that only the write has locked may refuse itself: it answers the error, having written nothing.
 */
export async function administer<T>(
  database: Database,
  by: By,
  about: { app: string | null; action: string; guard: WriteGuard; subject?: string },
  write: (administration: Administration) => Promise<Outcome<T | UsherError>>,
): Promise<Committed<T>> {
  const committed = await database.change(async (tx): Promise<Outcome<T | UsherError>> => {
    const named = { actor: `user:${by.caller.email}`, appCode: about.app, requestId: by.requestId };
    const records: AuditEntry[] = [];
    const audit = (change: Change): void => void records.push({ ...named, ...change });
    const refused = await about.guard(tx, by.caller.email);
    const outcome: Outcome<T | UsherError> =
      refused === null ? await write({ tx, audit }) : { result: refused, scopes: [] };
    if (outcome.result instanceof UsherError)
      records.push({ ...named, action: `${about.action}.refused`, subject: about.subject ?? null });
    return { ...outcome, records };
  });
  const { result, ...made } = committed;
  if (result instanceof UsherError) throw result;
  return { result, ...made };
}

/**
 * The id of an application that a write concerns, held against deletion until the transaction ends. NOT_FOUND when there is none:
 * only SuperAdmins get so far.
 */
export async function applicationOf(tx: Tx, code: string): Promise<number> {
  return existing(await holdApplication(tx, code), code);
}

/**
 * The same for a write that depends on what else is in the application (nothing refers to this, no parents in a circle): every
 * other write to the application waits until the transaction ends. To be called before anything else is locked.
 */
export async function applicationAlone(tx: Tx, code: string): Promise<number> {
  return existing(await holdApplicationAlone(tx, code), code);
}

/** The id that a statement found under that code; NOT_FOUND when it found none. */
export function existing(id: number | null, code: string): number {
  if (id === null) throw new UsherError('NOT_FOUND', `There is no application ${code}.`);
  return id;
}

/** The id of an application that a read concerns. NOT_FOUND when there is none. */
export async function knownApplication(tx: Tx, code: string): Promise<number> {
  return existing(await findApplicationId(tx, code), code);
}
