import { defineEntity, p } from '@mikro-orm/core';
import { identity, reference, stamp } from './columns.ts';

/** What an application can notify about, and by which channels (docs/reference/notifications.md#types). */
export const NotificationType = defineEntity({
  name: 'NotificationType',
  tableName: 'notification_type',
  properties: {
    id: identity(),
    applicationId: reference(),
    code: p.text(),
    name: p.text(),
    description: p.text().nullable(),
    emailEnabled: p.boolean().default(true),
    pushEnabled: p.boolean().default(true),
    userCanDisable: p.boolean().default(true),
    defaultEmail: p.boolean().default(true),
    defaultPush: p.boolean().default(true),
    selfServiceEnabled: p.boolean().default(true),
    system: p.boolean().default(false),
    emailFromName: p.text().nullable(),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
