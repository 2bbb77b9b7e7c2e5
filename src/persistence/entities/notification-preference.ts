import { defineEntity, p } from '@mikro-orm/core';
import { perChannel } from '../../base/channels.ts';
import { reference, stamp } from './columns.ts';

/** A user's choice for one notification type; null where the type's default applies. */
export const NotificationPreference = defineEntity({
  name: 'NotificationPreference',
  properties: {
    personId: reference().primary(),
    notificationTypeId: reference().primary(),
    ...perChannel(() => p.boolean().nullable()),
    updatedAt: stamp(),
  },
});
