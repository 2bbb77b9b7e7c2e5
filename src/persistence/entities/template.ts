import { defineEntity, p } from '@mikro-orm/core';
import { identity, reference, stamp } from './columns.ts';

/** The words of a notification type in one language (docs/reference/notifications.md#templates). */
export const Template = defineEntity({
  name: 'Template',
  tableName: 'template',
  properties: {
    id: identity(),
    applicationId: reference(),
    notificationTypeId: reference(),
    key: p.text().default('default'),
    locale: p.text(),
    subject: p.text(),
    html: p.text(),
    text: p.text().nullable(),
    pushTitle: p.text().nullable(),
    pushBody: p.text().nullable(),
    url: p.text().nullable(),
    requiredVariables: p.array().columnType('text[]').defaultRaw("'{}'"),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
