/** Whom an administrative write concerns: what a dry run compares, and what a conditional write needs unchanged. */

import { applicationsOf, type Concern } from '../persistence/administration/impact.ts';
import type { Tx } from '../persistence/database.ts';

export type { Concern } from '../persistence/administration/impact.ts';

/** The part of a write's description that says whom it concerns. */
export interface Target {
  /** The application that it concerns. */
  app: string | null;
  /** The address of the person whom it is about. */
  subject?: string;
  /** The addresses of the people whom it is about, where there are many: in `app` alone. */
  subjects?: readonly string[];
  /** Whether it may make, change or take away overrides. */
  overrides?: boolean;
  /** Whether it changes definitions alone, and neither the state of people nor their roles and seats. */
  policyAlone?: boolean;
  /** Whom it concerns beside. */
  also?: (tx: Tx) => Promise<readonly Concern[]>;
}

export interface Concerned {
  /** In the application; without one, in all applications where the person has something. */
  readonly own: Concern;
  readonly also: readonly Concern[];
  /** The person whom the write concerns in every application; null where it concerns one application. */
  readonly everywhere: string | null;
}

export async function concernedBy(tx: Tx, target: Target): Promise<Concerned> {
  const { app, subject, subjects = null, overrides = false, policyAlone } = target;
  const also = (await target.also?.(tx)) ?? [];
  if (app !== null) {
    const people = subject === undefined ? subjects : [subject];
    return { own: { apps: [app], people, overrides, policyAlone }, also, everywhere: null };
  }
  if (subject === undefined) throw new Error('a write about nobody in particular cannot be rehearsed');
  const own = { apps: await applicationsOf(tx, subject), people: [subject], overrides };
  return { own, also, everywhere: subject };
}
