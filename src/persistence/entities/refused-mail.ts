import { defineEntity, p } from '@mikro-orm/core';
import { identity, stamp } from './columns.ts';

/**
 * An e-mail of the identity provider that no repetition can mend (docs/reference/identity-provider.md#refused-e-mails). `body` is sealed,
 * and null once it was sent.
 */
export const RefusedMail = defineEntity({
  name: 'RefusedMail',
  properties: {
    id: identity(),
    hash: p.text().unique(),
    at: stamp(),
    /** When the provider delivered it last. */
    lastAt: stamp(),
    deliveries: p.integer().default(1),
    /** The code of the error. */
    reason: p.text(),
    message: p.text(),
    eventType: p.text().nullable(),
    orgId: p.text().nullable(),
    /** The recipient, in normal form. */
    email: p.text().nullable(),
    /** Sealed; null once it was sent. */
    body: p.text().nullable(),
    sentAt: p.datetime(3).nullable(),
  },
});
