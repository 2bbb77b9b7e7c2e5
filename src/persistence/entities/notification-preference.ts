import { defineEntity, p } from '@mikro-orm/core';
import { reference, stamp } from './columns.ts';

/** A user's choice for one notification type; null where the type's default holds. */
export const NotificationPreference = defineEntity({
  name: 'NotificationPreference',
  tableName: 'notification_preference',
  properties: {
    personId: reference().primary(),
    notificationTypeId: reference().primary(),
    email: p.boolean().nullable(),
    push: p.boolean().nullable(),
    updatedAt: stamp(),
  },
});
