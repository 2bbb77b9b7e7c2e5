import { defineEntity, p } from '@mikro-orm/core';
import { reference, stamp } from './columns.ts';

/** An account at an identity provider, and whose it is (docs/reference/callers.md#accounts). At most one of a person's signs in. */
export const PersonAccount = defineEntity({
  name: 'PersonAccount',
  properties: {
    issuer: p.text().primary(),
    userId: p.text().primary(),
    personId: reference().primary().autoincrement(false),
    /** Whether its tokens are the person's. At most one account of a person is. */
    signsIn: p.boolean().default(false),
    /** Whether its tokens may sign in an address that rules. */
    mayRule: p.boolean().default(false),
    /** The organization in the token that made it the person's; null where none said. */
    organization: p.text().nullable(),
    /** The provider's time. */
    seenAt: stamp(),
  },
});
