/**
 * What an apply leaves in the audit, in its own transaction (contract 5): one `manifest.applied` with the counts. Of up to
 * a hundred steps each has a record of its own beside it (`role.created`, `assignment.removed`), to be found by subject; more
 * are listed in `manifest.listed` records, a thousand steps each. Nothing is left out either way.
 */

import { type AuditEntry, record } from '../../persistence/audit.ts';
import { PAGE, turn } from '../../persistence/catalog/manifest-read.ts';
import type { Tx } from '../../persistence/database.ts';
import { type Plan, stepsOf } from './plan.ts';
import { type Action, type Change, type Kind, type Step, show } from './steps.ts';

const SINGLE_RECORDS = 100;

const VERBS: Record<Action, string> = { create: 'created', change: 'changed', remove: 'removed' };

/** Kinds that audit records name otherwise. */
const THINGS: Partial<Record<Kind, string>> = { notificationType: 'notification_type' };

/** On whose word: a user, who must be a SuperAdmin when the change is made, or whoever holds the machine. */
export type Actor = { email: string } | 'cli' | 'system';

export interface Occasion {
  actor: Actor;
  code: string;
  requestId: string | null;
}

export async function recordApplied(tx: Tx, plan: Plan, occasion: Occasion & { prune: boolean }): Promise<void> {
  const write = (entry: Omit<AuditEntry, 'actor' | 'appCode' | 'requestId'>): Promise<void> =>
    record(tx, { ...named(occasion), ...entry });
  await write({ action: 'manifest.applied', subject: plan.code, after: { prune: occasion.prune, ...plan.summary } });
  const steps = stepsOf(plan);
  if (steps.length <= SINGLE_RECORDS) {
    for (const step of steps) {
      const { kind, action, key, before, after } = readable(step);
      await write({ action: `${THINGS[kind] ?? kind}.${VERBS[action]}`, subject: key, before, after });
    }
    return;
  }
  const of = Math.ceil(steps.length / PAGE);
  for (let part = 0; part < of; part++) {
    const changes = steps.slice(part * PAGE, (part + 1) * PAGE).map(readable);
    await write({ action: 'manifest.listed', subject: plan.code, after: { part: part + 1, of, changes } });
    await turn();
  }
}

export async function recordRefused(tx: Tx, occasion: Occasion): Promise<void> {
  await record(tx, { ...named(occasion), action: 'manifest.applied.refused', subject: occasion.code });
}

function named({ actor, code, requestId }: Occasion): Pick<AuditEntry, 'actor' | 'appCode' | 'requestId'> {
  return { actor: typeof actor === 'string' ? actor : `user:${actor.email}`, appCode: code, requestId };
}

const PART = 2000;

/** A long part by its beginning, as the records of single templates have it. */
function shortenParts({ before, after }: Change): void {
  for (const record of [before ?? {}, after ?? {}]) {
    for (const [name, part] of Object.entries(record)) {
      if (typeof part !== 'string' || part.length <= PART) continue;
      record[name] = `${part.slice(0, PART).toWellFormed()}… (${part.length} characters)`;
    }
  }
}

/** As answers show it, but for a role's permissions: a code such as `token.read` as a name would be taken for a secret. */
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
