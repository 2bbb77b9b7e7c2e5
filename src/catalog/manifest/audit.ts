/**
 * Audit records of an apply, in its own transaction: one `manifest.applied` with the counts, and for each step about
 * a person a record under their address (`assignment.created`, `override.removed`), however many there are. Of up to a hundred
 * steps each other one has a record of its own as well (`role.created`), to be found by its key; more are listed in
 * `manifest.listed` records, a thousand steps each. Either way every step is recorded.
 */

import { mapInSlices } from '../../base/time-slice.ts';
import { type AuditEntry, record, recordAll } from '../../persistence/audit.ts';
import { PAGE, turn } from '../../persistence/catalog/manifest-read.ts';
import type { Tx } from '../../persistence/database.ts';
import type { Plan } from './plan.ts';
import { type Action, type Change, KINDS, type Kind, type Step, show } from './steps.ts';

const SINGLE_RECORDS = 100;
/** Records of their own that are written at once: making one takes some 10 µs. */
const SINGLE_PAGE = 250;

const VERBS: Record<Action, string> = { create: 'created', change: 'changed', remove: 'removed' };

/** Kinds with a different name in audit records. */
const THINGS: Partial<Record<Kind, string>> = { notificationType: 'notification_type' };

/**
 * The actor: a user, who must be a SuperAdmin when the change is made; an internal API key with the scope for it, by its name;
 * or a person at the machine's command line.
 */
export type Actor = { email: string } | { key: string } | 'cli' | 'system';

interface Occasion {
  actor: Actor;
  code: string;
  requestId: string | null;
  reason?: string | undefined;
}

/** Kinds whose every step is about a person. */
const OF_PEOPLE: ReadonlySet<Kind> = new Set(['admin', 'assignment', 'override']);

export async function recordApplied(tx: Tx, plan: Plan, occasion: Occasion & { prune: boolean }): Promise<void> {
  const common = named(occasion);
  await record(tx, {
    ...common,
    action: 'manifest.applied',
    subject: plan.code,
    after: { prune: occasion.prune, ...plan.summary },
  });
  const { create, change, remove } = plan.summary;
  const few = create + change + remove <= SINGLE_RECORDS;
  const isSingle = ({ kind }: Step): boolean => few || OF_PEOPLE.has(kind);
  for await (const steps of pagesOf(plan, isSingle, SINGLE_PAGE)) {
    await recordAll(
      tx,
      steps.map((step) => ({ ...common, ...recordOf(step) })),
    );
    await turn();
  }
  const listed = KINDS.reduce((sum, kind) => (OF_PEOPLE.has(kind) ? sum : sum + plan.steps[kind].length), 0);
  const of = few ? 0 : Math.ceil(listed / PAGE);
  let part = 0;
  for await (const steps of pagesOf(plan, (step) => !isSingle(step), PAGE)) {
    const changes = await mapInSlices(steps, readable);
    await record(tx, {
      ...common,
      action: 'manifest.listed',
      subject: plan.code,
      after: { part: ++part, of, changes },
    });
    await turn();
  }
}

/** The steps that are chosen, in the order of the plan. */
async function* pagesOf(plan: Plan, chosen: (step: Step) => boolean, size: number): AsyncGenerator<Step[]> {
  let page: Step[] = [];
  for (const kind of KINDS) {
    for (const step of plan.steps[kind]) {
      if (!chosen(step)) continue;
      if (page.push(step) < size) continue;
      yield page;
      page = [];
    }
  }
  if (page.length > 0) yield page;
}

/** A step as a record of its own: about a person under their address, about anything else under its key. */
function recordOf(step: Step): Pick<AuditEntry, 'action' | 'subject' | 'before' | 'after'> {
  const { kind, action, key, before, after } = readable(step);
  const verb = `${THINGS[kind] ?? kind}.${VERBS[action]}`;
  if (!OF_PEOPLE.has(kind)) return { action: verb, subject: key, before, after };
  const person = (before ?? after)?.email;
  return { action: verb, subject: String(person), before: beside(before), after: beside(after) };
}

/** The content of a step about a person, without the address; undefined for an administrator. */
function beside(record: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  const { email: _, ...rest } = record ?? {};
  return Object.keys(rest).length === 0 ? undefined : rest;
}

export async function recordRefused(tx: Tx, occasion: Occasion): Promise<void> {
  await record(tx, { ...named(occasion), action: 'manifest.applied.refused', subject: occasion.code });
}

function named({
  actor,
  code,
  requestId,
  reason,
}: Occasion): Pick<AuditEntry, 'actor' | 'appCode' | 'requestId' | 'reason'> {
  return { actor: nameOf(actor), appCode: code, requestId, reason };
}

function nameOf(actor: Actor): string {
  if (typeof actor === 'string') return actor;
  return 'key' in actor ? `key:${actor.key}` : `user:${actor.email}`;
}

const PART = 2000;

/** Shortens long parts to their beginning, as in the records of single templates. */
function shortenParts({ before, after }: Change): void {
  for (const record of [before ?? {}, after ?? {}]) {
    for (const [name, part] of Object.entries(record)) {
      if (typeof part !== 'string' || part.length <= PART) continue;
      record[name] = `${part.slice(0, PART).toWellFormed()}… (${part.length} characters)`;
    }
  }
}

/** As in answers, except for a role's permissions: as a member name, a code such as `token.read` would be masked as a secret. */
function readable(step: Step): Change {
  const change = show(step);
  if (step.kind === 'template') shortenParts(change);
  if (step.kind !== 'role') return change;
  for (const side of ['before', 'after'] as const) {
    const permissions = step[side]?.permissions;
    const shown = change[side];
    if (permissions && shown) shown.permissions = [...permissions].map(([code, level]) => `${code}: ${level}`);
  }
  return change;
}
