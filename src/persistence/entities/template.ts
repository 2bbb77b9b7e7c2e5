import { defineEntity, p } from '@mikro-orm/core';
import { OPTIONAL_PARTS, recordOf } from '../../base/channels.ts';
import { identity, reference, stamp } from './columns.ts';

/** The texts of a notification type in one language (docs/reference/notifications.md#templates). */
export const Template = defineEntity({
  name: 'Template',
  properties: {
    id: identity(),
    applicationId: reference(),
    notificationTypeId: reference(),
    key: p.text().default('default'),
    locale: p.text(),
    subject: p.text(),
    html: p.text(),
    ...recordOf(OPTIONAL_PARTS, () => p.text().nullable()),
    requiredVariables: p.array().columnType('text[]').defaultRaw("'{}'"),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
