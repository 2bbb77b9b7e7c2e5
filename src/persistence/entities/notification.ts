import { defineEntity, p } from '@mikro-orm/core';
import { identity, reference, stamp } from './columns.ts';

/** One notification of one person: an item of the inbox and a line of the send log (docs/reference/notifications.md#status). */
export const Notification = defineEntity({
  name: 'Notification',
  properties: {
    id: identity(),
    applicationId: reference(),
    notificationTypeId: reference(),
    personId: reference(),
    subject: p.text(),
    /** Plain text. Null where the send had none, and for notifications older than stored bodies. */
    body: p.text().nullable(),
    url: p.text().nullable(),
    icon: p.text().nullable(),
    payload: p.json<unknown>(),
    status: p.text().$type<'queued' | 'sent' | 'partial' | 'failed' | 'suppressed'>(),
    statusReason: p.text().nullable(),
    locale: p.text(),
    readAt: p.datetime(3).nullable(),
    createdAt: stamp(),
  },
});
