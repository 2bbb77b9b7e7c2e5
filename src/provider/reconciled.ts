/** What came of a comparison with the identity provider, as it is answered, kept and shown. */

import { z } from 'zod';
import type { Drift } from './drift.ts';
import type { LifecycleEvent } from './lifecycle.ts';

const count = z.int().nonnegative();
/** Lost events by what they are. */
export const FoundSchema = z.strictObject({
  created: count,
  updated: count,
  deactivated: count,
  reactivated: count,
  removed: count,
});
export type Found = z.output<typeof FoundSchema>;

export interface Reconciled {
  /** Users at the provider with a storable address. */
  readonly users: number;
  /** The provider's people who are active here. */
  readonly people: number;
  readonly brake: { readonly percent: number; readonly deactivations: number; readonly allowed: number };
  readonly isBraked: boolean;
  /** Confirmed by a question about each person; of a braked run as the lists have it. */
  readonly found: Found;
  /** Those that changed something. */
  readonly applied: Found;
  /** The first hundred of `found`. */
  readonly changes: readonly { readonly email: string; readonly event: LifecycleEvent }[];
}

/** How the last comparison ended, of all instances. */
export const EndedSchema = z.strictObject({
  startedAt: z.string(),
  endedAt: z.string(),
  dryRun: z.boolean(),
  outcome: z.enum(['done', 'braked', 'failed']),
  /** Of a failure: the code of its error. */
  reason: z.string().nullable(),
  found: FoundSchema,
  applied: FoundSchema,
});
export type Ended = z.output<typeof EndedSchema>;

export function countsOf(drifts: readonly Pick<Drift, 'event'>[]): Found {
  const found = { created: 0, updated: 0, deactivated: 0, reactivated: 0, removed: 0 };
  for (const { event } of drifts) found[event.slice('user.'.length) as keyof Found]++;
  return found;
}
