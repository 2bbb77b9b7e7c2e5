/** A person leaves the organization (docs/reference/people.md#offboarding). */

import { z } from 'zod';
import { EmailParams, email } from '../route/fields.ts';
import { superAdmin } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route, written } from '../route/route.ts';

const count = z.int().nonnegative();

const Offboarded = record('Offboarded', {
  email: z.string(),
  removed: z.strictObject({ superadmins: count, appAdmins: count, roles: count, overrides: count }),
  handedOver: z.array(z.string()).meta({
    description: 'Codes of the applications that `handOverTo` administers from now on, and did not before.',
  }),
});

const offboard = defineRoute({
  method: 'post',
  path: '/api/users/:email/offboard',
  operation: 'offboardUser',
  tag: 'Users',
  summary: 'Block a person and end every right',
  description:
    'In one transaction: blocked, no SuperAdmin, no roles, overrides or administration of applications. `handOverTo` becomes an ' +
    'administrator of the same applications. Profile, inbox and preferences stay. Repeated it changes nothing.',
  guard: superAdmin,
  refusal: 'user.offboarded.refused',
  dryRun: true,
  params: EmailParams,
  body: z
    .strictObject({
      handOverTo: email
        .optional()
        .meta({ description: 'An active person, who takes over the administration of applications.' }),
    })
    .optional(),
  response: Offboarded,
  errors: ['NOT_FOUND', 'UNKNOWN_REFERENCE', 'LAST_SUPERADMIN'],
  example: { body: { handOverTo: 'nora@example.com' } },
  handle: async ({ offboarding }, input) => {
    const { params, body } = input;
    return written(await offboarding.offboard(params.email, body?.handOverTo ?? null, input));
  },
});

export const offboardingRoutes: readonly Route[] = [offboard];
