import { defineEntity, p } from '@mikro-orm/core';
import { identity, reference, stamp } from './columns.ts';

/** A browser that receives pushes. `vapidKey` is the public key that it subscribed with. */
export const PushSubscription = defineEntity({
  name: 'PushSubscription',
  properties: {
    id: identity(),
    personId: reference(),
    endpoint: p.text(),
    p256dh: p.text(),
    auth: p.text(),
    deviceLabel: p.text(),
    /** The public VAPID key that it was created with. */
    vapidKey: p.text(),
    lastUsedAt: p.datetime(3).nullable(),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
