/** A person gets another address (docs/reference/people.md#moving). */

import { z } from 'zod';
import { EmailParams, email } from '../route/fields.ts';
import { superAdmin } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route, written } from '../route/route.ts';

const Moved = record('Moved', {
  email: z.string().meta({ description: 'The address before: it stays, inactive.' }),
  movedTo: z.string(),
});

const move = defineRoute({
  method: 'post',
  path: '/api/users/:email/move',
  operation: 'moveUser',
  tag: 'Users',
  summary: 'Move a person to another address',
  description:
    'In one transaction, and one change of the policy: roles, overrides, seats, being a SuperAdmin, profile, preferences, subscriptions, inbox ' +
    'and accounts. A bare profile at the new address is replaced; the old address stays, inactive, with `movedTo`.',
  guard: superAdmin,
  refusal: 'user.moved.refused',
  dryRun: true,
  params: EmailParams,
  body: z.strictObject({ to: email }),
  response: Moved,
  errors: ['NOT_FOUND', 'TARGET_NOT_EMPTY'],
  example: {
    body: { to: 'ada.king@example.com' },
    response: { email: 'ada@example.com', movedTo: 'ada.king@example.com' },
  },
  handle: async ({ moving }, input) => written(await moving.move(input.params.email, input.body.to, input)),
});

export const movingRoutes: readonly Route[] = [move];
