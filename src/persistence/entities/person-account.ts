import { defineEntity, p } from '@mikro-orm/core';
import { reference, stamp } from './columns.ts';

/** An account at an identity provider, and whose it is (docs/reference/callers.md#accounts). At most one of a person's signs in. */
export const PersonAccount = defineEntity({
  name: 'PersonAccount',
  properties: {
    issuer: p.text().primary(),
    userId: p.text().primary(),
    personId: reference().primary().autoincrement(false),
    signsIn: p.boolean().default(false),
    mayRule: p.boolean().default(false),
    organization: p.text().nullable(),
    seenAt: stamp(),
  },
});
