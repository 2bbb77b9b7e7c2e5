import { defineEntity, p } from '@mikro-orm/core';
import { recordOf, TYPE_SWITCHES } from '../../base/channels.ts';
import { identity, reference, stamp } from './columns.ts';

/** A kind of notification of an application, and its channels (docs/reference/notifications.md#types). */
export const NotificationType = defineEntity({
  name: 'NotificationType',
  properties: {
    id: identity(),
    applicationId: reference(),
    code: p.text(),
    name: p.text(),
    description: p.text().nullable(),
    ...recordOf(TYPE_SWITCHES, () => p.boolean().default(true)),
    system: p.boolean().default(false),
    emailFromName: p.text().nullable(),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
