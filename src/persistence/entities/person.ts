import { defineEntity, p } from '@mikro-orm/core';
import { identity, reference, stamp } from './columns.ts';

/** A known e-mail address; a user's record once `registeredAt` is set. */
export const Person = defineEntity({
  name: 'Person',
  properties: {
    id: identity(),
    email: p.text().unique(),
    registeredAt: p.datetime(3).nullable(),
    providerActive: p.boolean().default(true),
    blocked: p.boolean().default(false),
    movedTo: reference().nullable(),
    createdAt: stamp(),
  },
});
