/** Which applications somebody administers, and how far: the answer over all of them that guards give one by one. */

import { evaluateRows } from '../engine/evaluate.ts';
import { Level } from '../engine/types.ts';
import { applicationsOfAdmin } from '../persistence/catalog/levels.ts';
import type { Tx } from '../persistence/database.ts';
import { membersIn, policyIn } from '../persistence/facts-source.ts';
import { managedResource, PANEL_APP, PANEL_ENTRY, PANEL_MANAGE } from './panel.ts';

export interface Administered {
  superadmin: boolean;
  /** Holds the panel's level `edit` without a resource: may create applications. */
  managesAll: boolean;
  /** `edit` or `view` of each application that the person may see at all, by its code. Empty for an inactive person. */
  levels: ReadonlyMap<string, 'view' | 'edit'>;
}

/** Needs of one statement (facts-source.ts). */
const BATCH = 256;

/**
 * What `email` administers, on rows of `tx`: everything as a SuperAdmin, applications of one's own as their AppAdmin, and with
 * `panel.access` those on which the panel gives a level.
 */
export async function administeredBy(tx: Tx, email: string): Promise<Administered> {
  const [entry] = await membersIn(tx, [{ email, app: PANEL_APP, ...managedResource(null) }]);
  if (entry === undefined) throw new Error('one need has one answer');
  const { superadmin, active } = entry.person;
  const levels = new Map<string, 'view' | 'edit'>();
  if (!active) return { superadmin: false, managesAll: false, levels };
  const applications = await applicationsOfAdmin(tx, email);
  for (const { code, admin } of applications) if (admin || superadmin) levels.set(code, 'edit');
  if (superadmin) return { superadmin, managesAll: true, levels };

  const policy = await policyIn(tx, PANEL_APP);
  if (!evaluateRows(policy, entry, PANEL_ENTRY).granted) return { superadmin, managesAll: false, levels };
  const others = applications.filter(({ code }) => !levels.has(code));
  for (let at = 0; at < others.length; at += BATCH) {
    const page = others.slice(at, at + BATCH);
    const answers = await membersIn(
      tx,
      page.map(({ code }) => ({ email, app: PANEL_APP, ...managedResource(code) })),
    );
    answers.forEach((answer, index) => {
      const { level } = evaluateRows(policy, answer, PANEL_MANAGE);
      const code = page[index]?.code;
      if (code !== undefined && level >= Level.VIEW) levels.set(code, level >= Level.EDIT ? 'edit' : 'view');
    });
  }
  return { superadmin, managesAll: evaluateRows(policy, entry, PANEL_MANAGE).level >= Level.EDIT, levels };
}
