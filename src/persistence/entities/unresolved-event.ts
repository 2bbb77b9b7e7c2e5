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
    email: p.text().nullable(),
    event: p.json<unknown>(),
    reason: p.text(),
    tries: p.integer().default(1),
    at: stamp(),
  },
});
