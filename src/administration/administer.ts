/**
 * The common part of every administrative write (docs/reference/callers.md#guards-of-writes): its guard is decided on rows of its own transaction, its
 * audit record is written in it, and a refusal is recorded too.
 */

import { UsherError } from '../base/errors.ts';
import { evaluateRows } from '../engine/evaluate.ts';
import { Level, type RevisionToken } from '../engine/types.ts';
import type { AuditEntry } from '../persistence/audit.ts';
import { findApplicationId, holdApplication, holdApplicationAlone } from '../persistence/catalog/applications.ts';
import type { Committed, Database, Outcome, Tx } from '../persistence/database.ts';
import { memberIn, policyIn } from '../persistence/facts/source.ts';
import type { Target } from './concerned.ts';
import { type DryRun, rehearse } from './dry-run.ts';
import { refuseChanged, refuseChangedAtEnd } from './if-revision.ts';
import { AUTH_TYPE, managedResource, PANEL_APP, PANEL_ENTRY, PANEL_MANAGE } from './panel.ts';
import { unknownApplication } from './records.ts';
import { byAdministratorOf, byManagerOfAll, bySuperAdmin, type Rule } from './rules.ts';

/** The author of a write: a signed-in administrator and the request. The input of a route's handler fits. */
export interface By {
  readonly caller: { readonly email: string };
  readonly requestId: string;
  /** Their own words on why, for the audit. */
  readonly reason?: string | undefined;
  /** Present where the write is to be rehearsed only. */
  readonly dryRun?: DryRun | undefined;
  /** The write is refused when what it concerns has changed since that revision. */
  readonly ifRevision?: RevisionToken | undefined;
}

/** What is known of an administrative write before it is carried out. */
export interface About extends Target {
  /** Names the write in the audit; with `.refused` its refusal. */
  action: string;
  guard: WriteGuard;
}

/** Decides on fresh rows; resolves to the refusal, or null. */
export type WriteGuard = (tx: Tx, email: string) => Promise<UsherError | null>;

/** An active SuperAdmin; `act` completes "Only a SuperAdmin may …". */
export function superAdmin(act: string): WriteGuard {
  return onRows('', bySuperAdmin(act));
}

/** A SuperAdmin, or a panel user who manages all applications: they may create and delete applications (docs/reference/administration.md#guards). */
export function managerOfAll(act: string): WriteGuard {
  return onRows('', byManagerOfAll(act));
}

/** A SuperAdmin, an AppAdmin of `app`, or a panel user with level `edit` on it; in `auth` see `byAdministratorOf`. */
export function editorOf(app: string, options?: { delegated: boolean }): WriteGuard {
  return onRows(app, byAdministratorOf(app, Level.EDIT, options));
}

/** All of the guards; the first refusal counts. */
export function allOf(...guards: readonly WriteGuard[]): WriteGuard {
  return async (tx, email) => {
    for (const guard of guards) {
      const refused = await guard(tx, email);
      if (refused !== null) return refused;
    }
    return null;
  };
}

/**
 * The error for a writer who may not write that notification type or a template of it; null for other types and for SuperAdmins.
 * Runs after the guard: app admins may not write `auth_idp`, which sends codes, in any application.
 */
export async function refuseAuthType(tx: Tx, type: string, email: string): Promise<UsherError | null> {
  return type === AUTH_TYPE ? await superAdmin(`write ${AUTH_TYPE}, whose templates hold codes`)(tx, email) : null;
}

/** The rule over rows of the transaction. The person and their place in `app` are one statement. */
function onRows(app: string, rule: Rule): WriteGuard {
  return async (tx, email) => {
    const whole = (of: string) => memberIn(tx, { email, app: of, resourceType: '', resourceId: '' });
    const first = await whole(app);
    const answerIn = async (of: string) => (of === app ? first : await whole(of));
    return await rule({
      person: first.person,
      member: async (of) => (await answerIn(of)).member,
      panelLevel: async (of) => {
        const policy = await policyIn(tx, PANEL_APP);
        if (!evaluateRows(policy, await answerIn(PANEL_APP), PANEL_ENTRY).granted) return Level.NONE;
        const managed = await memberIn(tx, { email, app: PANEL_APP, ...managedResource(of) });
        return evaluateRows(policy, managed, PANEL_MANAGE).level;
      },
    });
  };
}

/** The part of an audit record that a write supplies, beside actor, application and request. */
export type Change = Pick<AuditEntry, 'action' | 'subject' | 'before' | 'after'>;

/** The context of a write inside `administer`: its transaction, and its audit. */
export interface Administration {
  readonly tx: Tx;
  /** Adds a record to the end of the transaction: it is written with the commit, or not at all. Its action is the write's unless named. */
  readonly audit: (change: Omit<Change, 'action'> & Partial<Change>) => void;
}

/**
 * Runs `write` when the guard allows it, or rehearses it. Throws the guard's refusal (after committing its record) or the error
 * of `write`; STALE and UNKNOWN_REVISION of `by.ifRevision`.
 * A write whose guard needs rows that only the write has locked may refuse itself: it returns the error, having written nothing.
 */
export async function administer<T>(
  database: Database,
  by: By,
  about: About,
  write: (administration: Administration) => Promise<Outcome<T | UsherError>>,
): Promise<Committed<T>> {
  const { action } = about;
  const { requestId, reason } = by;
  const named = { actor: `user:${by.caller.email}`, action, appCode: about.app, requestId, reason };
  const judge = (tx: Tx) => about.guard(tx, by.caller.email);
  const carryOut = async (tx: Tx, audit: Administration['audit']) => {
    await refuseChanged(tx, by.ifRevision, about);
    return await write({ tx, audit });
  };
  if (by.dryRun !== undefined) {
    return await rehearse(database, by.dryRun, {
      judge,
      target: about,
      write: (tx) => carryOut(tx, () => undefined),
    });
  }
  const committed = await database.change(async (tx): Promise<Outcome<T | UsherError>> => {
    const records: AuditEntry[] = [];
    const audit: Administration['audit'] = (change) => void records.push({ ...named, ...change });
    const refused = await judge(tx);
    const outcome: Outcome<T | UsherError> =
      refused === null ? await carryOut(tx, audit) : { result: refused, scopes: [] };
    if (outcome.result instanceof UsherError) {
      records.push({ ...named, action: `${action}.refused`, subject: about.subject ?? null });
    } else await refuseChangedAtEnd(tx, by.ifRevision, about, outcome);
    return { ...outcome, records };
  });
  const { result, ...made } = committed;
  if (result instanceof UsherError) throw result;
  return { result, ...made };
}

/**
 * The id of the application of a write, held against deletion until the transaction ends. NOT_FOUND for an unknown one: only
 * SuperAdmins get that far.
 */
export async function applicationOf(tx: Tx, code: string): Promise<number> {
  return existing(await holdApplication(tx, code), code);
}

/**
 * The same for a write that depends on the rest of the application (no references left, no cycle of parents): every
 * other write to the application waits until the transaction ends. Call it before locking anything else.
 */
export async function applicationAlone(tx: Tx, code: string): Promise<number> {
  return existing(await holdApplicationAlone(tx, code), code);
}

/** The id that a statement found for that code; NOT_FOUND for null. */
export function existing(id: number | null, code: string): number {
  if (id === null) throw unknownApplication(code);
  return id;
}

/** The id of the application of a read. Throws NOT_FOUND. */
export async function knownApplication(tx: Tx, code: string): Promise<number> {
  return existing(await findApplicationId(tx, code), code);
}
