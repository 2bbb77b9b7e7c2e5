import { defineEntity, p } from '@mikro-orm/core';

/** How far a user of the identity provider is known from its events (docs/reference/identity-provider.md#native-events). */
export const ProviderUser = defineEntity({
  name: 'ProviderUser',
  properties: {
    issuer: p.text().primary(),
    userId: p.text().primary(),
    orgId: p.text().nullable(),
    active: p.boolean().nullable(),
    email: p.text().nullable(),
    stateAt: p.datetime(3).nullable(),
    stateSequence: p.bigint('number').nullable(),
    namesSequence: p.bigint('number').nullable(),
    emailSequence: p.bigint('number').nullable(),
    emailChangedAt: p.datetime(3).nullable(),
  },
});
