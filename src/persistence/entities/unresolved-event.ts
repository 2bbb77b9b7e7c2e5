import { defineEntity, p } from '@mikro-orm/core';
import { identity, stamp } from './columns.ts';

/** A native event whose person could not be found yet (docs/reference/identity-provider.md#native-events). */
export const UnresolvedEvent = defineEntity({
  name: 'UnresolvedEvent',
  properties: {
    id: identity(),
    issuer: p.text(),
    userId: p.text(),
    sequence: p.bigint('number'),
    eventType: p.text(),
    orgId: p.text().nullable(),
    /** An address in the event. */
    email: p.text().nullable(),
    /** As it is read again. */
    event: p.json<unknown>(),
    /** Why nobody was found. */
    reason: p.text(),
    tries: p.integer().default(1),
    /** When it came first. */
    at: stamp(),
  },
});
