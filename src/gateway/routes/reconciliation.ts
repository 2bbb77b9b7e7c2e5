/** People compared with the identity provider (docs/reference/identity-provider.md#reconciliation). */

import { z } from 'zod';
import { FoundSchema, type Reconciled } from '../../provider/reconciled.ts';
import { flagParam } from '../route/fields.ts';
import { superAdmin } from '../route/guards.ts';
import { DEADLINE_MS } from '../route/limits.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';

const count = z.int().nonnegative();

const Reconciliation = record('Reconciliation', {
  outcome: z.enum(['done', 'braked']).meta({ description: '`braked` in a dry run: the run itself would be refused.' }),
  dryRun: z.boolean(),
  users: count.meta({ description: 'Users at the provider with a storable address.' }),
  people: count.meta({ description: 'People of the provider who are active here.' }),
  brake: z
    .strictObject({ percent: count, deactivations: count, allowed: count })
    .meta({ description: 'The run is refused where `deactivations` is more than `allowed`.' }),
  found: FoundSchema.meta({
    description: 'Lost events by what they are; of a braked run before anybody was asked for.',
  }),
  applied: FoundSchema.meta({ description: 'Those that changed something.' }),
  changes: z
    .array(
      z.strictObject({
        email: z.string(),
        event: z.enum(['user.created', 'user.updated', 'user.deactivated', 'user.reactivated', 'user.removed']),
      }),
    )
    .max(100)
    .meta({ description: 'The first 100 of `found`.' }),
});

function shown({ isBraked, changes, ...rest }: Reconciled, dryRun: boolean): z.output<typeof Reconciliation> {
  return { outcome: isBraked ? 'braked' : 'done', dryRun, ...rest, changes: [...changes] };
}

const reconcile = defineRoute({
  method: 'post',
  path: '/api/idp/reconcile',
  operation: 'reconcile',
  tag: 'Identity provider',
  summary: 'Find and apply the user events that the webhook has lost',
  description:
    "Reads all users of the provider, compares them with the people here, asks for each difference by address, and applies what the webhook would have. Nothing is done where the provider's list is incomplete, or where more people would be deactivated than the brake allows. After 502 or 503 repeat it: what was applied stays.",
  guard: superAdmin,
  refusal: 'idp.reconciled.refused',
  query: z.strictObject({
    dryRun: flagParam.optional().meta({ description: 'True: nothing is changed, and the answer says what would be.' }),
  }),
  body: z
    .strictObject({
      brakePercent: z
        .int()
        .min(0)
        .max(100)
        .optional()
        .meta({ description: 'Of the active people; for this run, in place of `idp.reconcileBrakePercent`.' }),
    })
    .optional(),
  response: Reconciliation,
  errors: ['IDP_NOT_CONFIGURED', 'IDP_UNREACHABLE', 'IDP_REJECTED', 'RECONCILIATION_BRAKED', 'RECONCILIATION_RUNNING'],
  example: { body: { brakePercent: 25 } },
  deadlineMs: DEADLINE_MS.manifest,
  handle: async ({ provider }, input) => {
    const { query, body, requestId, signal } = input;
    const isDryRun = query.dryRun ?? false;
    const run = { isDryRun, brakePercent: body?.brakePercent, requestId, signal };
    return shown(await provider.reconciliation.runFor(input, run), isDryRun);
  },
});

export const reconciliationRoutes: readonly Route[] = [reconcile];
