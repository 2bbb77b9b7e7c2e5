import { defineEntity, p } from '@mikro-orm/core';
import { reference, stamp } from './columns.ts';

/** The application of an organization of the identity provider, beside `idp.orgToApp`. */
export const Organization = defineEntity({
  name: 'Organization',
  properties: {
    orgId: p.text().primary(),
    applicationId: reference(),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
