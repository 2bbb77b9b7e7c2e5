import { defineEntity, p } from '@mikro-orm/core';

/**
 * The mails of a lane that its server refused with the same words, one after the other (docs/reference/notifications.md#refusals-by-mail-servers). `words` is
 * their hash. The three lists go together; they are empty once the brand is paused.
 */
export const RefusedRow = defineEntity({
  name: 'RefusedRow',
  properties: {
    lane: p.text().primary(),
    words: p.text(),
    paused: p.boolean(),
    deliveries: p.array(Number).columnType('bigint[]'),
    notifications: p.array(Number).columnType('bigint[]'),
    people: p.array(Number).columnType('bigint[]'),
    at: p.datetime(3).defaultRaw('now()'),
  },
});
