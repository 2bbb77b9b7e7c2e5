/**
 * Manifests by the administrators of one application (docs/reference/command-line.md#manifests-by-administrators): they
 * write at once what they may write singly, and nothing else.
 */

import { refuseAuthType } from '../../administration/administer.ts';
import { AUTH_TYPE } from '../../administration/panel.ts';
import { UsherError, unavailable } from '../../base/errors.ts';
import type { Tx } from '../../persistence/database.ts';
import { type Plan, stepsOf } from './plan.ts';
import type { Kind, Step, StepOf } from './steps.ts';

const byAdministrators = (): boolean => false;

/** Whether the single write of a step needs a SuperAdmin. A new kind does not compile without an answer. */
const NEEDS_SUPERADMIN: { readonly [K in Kind]: (step: StepOf<K>) => boolean } = {
  // Only a manager of all applications creates one. `Manifests` refuses that for everybody here.
  application: ({ action }) => action === 'create',
  entity: byAdministrators,
  permission: byAdministrators,
  role: byAdministrators,
  // Its mails hold codes that open accounts.
  notificationType: ({ key }) => key === AUTH_TYPE,
  template: ({ before, after }) => before?.type === AUTH_TYPE || after?.type === AUTH_TYPE,
  // In `auth` these are delegated, within limits that a manifest does not check: the guard closes `auth` to all but SuperAdmins.
  admin: byAdministrators,
  assignment: byAdministrators,
  override: byAdministrators,
};

/** The refusal of a plan with a step that `email` could not carry out singly; null without one. Runs after the guard. */
export async function refuseBeyond(tx: Tx, plan: Plan, email: string): Promise<UsherError | null> {
  const beyond = stepsOf(plan).some(needsSuperAdmin);
  return beyond ? await refuseAuthType(tx, AUTH_TYPE, email) : null;
}

function needsSuperAdmin(step: Step): boolean {
  // The table has for each kind a function of its own steps.
  return (NEEDS_SUPERADMIN[step.kind] as (step: Step) => boolean)(step);
}

/** Manifests under way, waiting ones included: each may hold a thread and much memory, and all wait in one line. */
const MOST = { inAll: 4, ofOne: 2 } as const;

/** Keeps the administrators of applications from filling the line in which SuperAdmins wait too. */
export class OwnApplies {
  readonly #underWay = new Map<string, number>();
  #inAll = 0;

  /** Runs `apply`. Throws RATE_LIMITED for the third manifest of a person, UNAVAILABLE for the fifth of all. */
  async run<T>(email: string, apply: () => Promise<T>): Promise<T> {
    const own = this.#underWay.get(email) ?? 0;
    if (own >= MOST.ofOne) {
      throw new UsherError('RATE_LIMITED', `You are applying ${own} manifests already; wait until one has ended.`);
    }
    if (this.#inAll >= MOST.inAll) throw unavailable('Too many manifests are being applied; try again shortly.');
    this.#inAll++;
    this.#underWay.set(email, own + 1);
    try {
      return await apply();
    } finally {
      this.#inAll--;
      const left = (this.#underWay.get(email) ?? 1) - 1;
      if (left === 0) this.#underWay.delete(email);
      else this.#underWay.set(email, left);
    }
  }
}
