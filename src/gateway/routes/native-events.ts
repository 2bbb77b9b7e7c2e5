/** The provider's own event actions (docs/reference/identity-provider.md#native-events). */

import { z } from 'zod';
import { parseJson, rawBytes } from '../route/bodies.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';
import { signed } from '../route/signed.ts';

const receiveEvent = defineRoute({
  method: 'post',
  path: '/api/idp/events',
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

export const nativeEventRoutes: readonly Route[] = [receiveEvent];
