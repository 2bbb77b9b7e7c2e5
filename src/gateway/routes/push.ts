/** Push subscriptions of a signed-in user's browsers (docs/reference/notifications.md#push-subscriptions). */

import { z } from 'zod';
import { LIMITS } from '../../base/grammar.ts';
import type { PushSubscriptionRow } from '../../delivery/subscriptions.ts';
import { codeResponse } from '../route/envelopes.ts';
import { id, idParam, text, timestamp } from '../route/fields.ts';
import { signedIn } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

const PushSubscription = record('PushSubscription', {
  id,
  endpoint: z.string(),
  deviceLabel: z.string(),
  lastUsedAt: timestamp.nullable().meta({ description: 'The last successful delivery; null before the first.' }),
  createdAt: timestamp,
  updatedAt: timestamp,
});

function toJson({ id, endpoint, deviceLabel, lastUsedAt, createdAt, updatedAt }: PushSubscriptionRow) {
  return { id, endpoint, deviceLabel, lastUsedAt, createdAt, updatedAt };
}

const endpoint = text(LIMITS.url);

const vapidKey = defineRoute({
  method: 'get',
  path: '/api/profile/me/push/vapid-key',
  operation: 'getVapidKey',
  tag: 'Push',
  summary: 'Get the key that browsers subscribe with',
  description: '`applicationServerKey` of `pushManager.subscribe`. In production 503 where no keys are configured.',
  guard: signedIn,
  response: z.strictObject({ vapidPublicKey: z.string() }),
  errors: ['UNAVAILABLE'],
  handle: ({ pushSubscriptions }) => ({ vapidPublicKey: pushSubscriptions.vapidKey() }),
});

const subscribe = defineRoute({
  method: 'post',
  path: '/api/profile/me/push/subscribe',
  operation: 'subscribeToPushes',
  tag: 'Push',
  summary: 'Subscribe this browser to pushes',
  description:
    'Send what `pushManager.subscribe` returned. The same endpoint again updates its subscription (200); it moves from another user when both keys are the same. At most 20 per user: the least recently used one is removed.',
  guard: signedIn,
  body: z.strictObject({
    // A browser's own object: members added by future browsers are ignored.
    subscription: z.object({ endpoint, keys: z.object({ p256dh: z.string(), auth: z.string() }) }),
    deviceLabel: text(200),
  }),
  status: [201, 200],
  response: PushSubscription,
  errors: ['ENDPOINT_TAKEN', 'UNAVAILABLE'],
  example: {
    body: {
      subscription: {
        endpoint: 'https://fcm.googleapis.com/fcm/send/example',
        keys: {
          p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
          auth: 'BTBZMqHH6r4Tts7J_aSIgg',
        },
      },
      deviceLabel: 'Firefox on Linux',
    },
  },
  handle: async ({ pushSubscriptions }, { caller, body }) => {
    const stored = await pushSubscriptions.subscribe(caller.email, body);
    if (!stored.created) return answer(toJson(stored), { status: 200 });
    return answer(toJson(stored), { location: `/api/profile/me/push/subscriptions/${stored.id}` });
  },
});

const unsubscribe = defineRoute({
  method: 'post',
  path: '/api/profile/me/push/unsubscribe',
  operation: 'unsubscribeFromPushes',
  tag: 'Push',
  summary: 'Unsubscribe an endpoint from pushes',
  guard: signedIn,
  body: z.strictObject({ endpoint }),
  response: z.strictObject({ removed: z.boolean() }),
  example: { body: { endpoint: 'https://fcm.googleapis.com/fcm/send/example' } },
  handle: async ({ pushSubscriptions }, { caller, body }) => ({
    removed: await pushSubscriptions.unsubscribe(caller.email, body.endpoint),
  }),
});

const list = defineRoute({
  method: 'get',
  path: '/api/profile/me/push/subscriptions',
  operation: 'listMyPushSubscriptions',
  tag: 'Push',
  summary: 'List my subscribed browsers',
  guard: signedIn,
  envelope: codeResponse,
  response: z.array(PushSubscription),
  handle: async ({ pushSubscriptions }, { caller }) => (await pushSubscriptions.list(caller.email)).map(toJson),
});

const remove = defineRoute({
  method: 'delete',
  path: '/api/profile/me/push/subscriptions/:id',
  operation: 'deleteMyPushSubscription',
  tag: 'Push',
  summary: 'Unsubscribe one of my browsers from pushes',
  guard: signedIn,
  params: z.strictObject({ id: idParam }),
  errors: ['NOT_FOUND'],
  handle: async ({ pushSubscriptions }, { caller, params }) => {
    await pushSubscriptions.delete(caller.email, params.id);
    return undefined;
  },
});

export const pushRoutes: readonly Route[] = [vapidKey, subscribe, unsubscribe, list, remove];
