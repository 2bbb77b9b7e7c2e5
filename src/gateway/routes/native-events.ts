/** The provider's own event actions (docs/reference/identity-provider.md#native-events). */

import { z } from 'zod';
import { parseJson, rawBytes } from '../route/bodies.ts';
import { superAdmin } from '../route/guards.ts';
import { DEADLINE_MS } from '../route/limits.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';
import { signed } from '../route/signed.ts';

const receiveEvent = defineRoute({
  method: 'post',
  path: '/api/idp/events',
  operation: 'receiveProviderEvent',
  tag: 'Identity provider',
  summary: "Receive an event as the provider's own event actions send it",
  description: [
    '`user.human.added`, `user.human.selfregistered`, `user.human.initialization.check.succeeded`, `user.human.email.verified`,',
    '`user.human.profile.changed`, `user.human.email.changed`, `user.deactivated`, `user.locked`, `user.reactivated`, `user.unlocked`,',
    '`user.removed`; others get `applied: false`. The person is found by the account, else the provider is asked. 404 where no key is known.',
  ].join(' '),
  guard: signed('eventSignature', ({ provider }) => provider.nativeEvents, ['NOT_FOUND']),
  body: rawBytes(['application/json'], 'list'),
  response: z.strictObject({
    applied: z.boolean().meta({ description: 'Whether it changed anything.' }),
  }),
  errors: ['VALIDATION_FAILED'],
  example: {
    body: {
      aggregateID: '285181292935381360',
      aggregateType: 'user',
      resourceOwner: '285181292935381355',
      instanceID: '285181292935381300',
      version: 'v2',
      sequence: 4,
      event_type: 'user.deactivated',
      created_at: '2026-11-28T02:34:25.920748Z',
      userID: '285181292935381301',
    },
  },
  handle: async ({ provider }, { caller, body, requestId }) => {
    await provider.nativeEvents.verify(caller, body);
    const { result, revision } = await provider.nativeEvents.receive(parseJson(body, { unstorable: true }), requestId);
    return answer({ applied: result }, revision === undefined ? {} : { revision });
  },
});

const EventActions = record('EventActions', {
  configured: z.boolean().meta({ description: 'Target and executions were made, and events can be verified.' }),
  targetId: z.string().nullable(),
  endpoint: z.string().meta({ description: 'Where the provider sends its events.' }),
  hasSigningKey: z.boolean(),
  events: z.array(z.string()).meta({ description: 'The types that it sends.' }),
});

const setUpEvents = defineRoute({
  method: 'post',
  path: '/api/idp/admin/actions/setup',
  operation: 'setUpProviderActions',
  tag: 'Identity provider',
  summary: 'Make the provider send its user events to this service',
  description:
    'Finds or makes a target and an execution for each type, and stores the signing key sealed. Safe to repeat after a failure; other targets of the same events stay.',
  guard: superAdmin,
  refusal: 'event_actions.set_up.refused',
  response: EventActions,
  errors: ['IDP_NOT_CONFIGURED', 'IDP_UNREACHABLE', 'IDP_REJECTED', 'ALREADY_EXISTS'],
  deadlineMs: DEADLINE_MS.manifest,
  handle: ({ provider }, input) => provider.eventActions.setUp(input),
});

export const nativeEventRoutes: readonly Route[] = [receiveEvent, setUpEvents];
