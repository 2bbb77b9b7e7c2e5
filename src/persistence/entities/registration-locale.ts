import { defineEntity, p } from '@mikro-orm/core';
import { stamp } from './columns.ts';

/** The language of a person who registers and has no record yet; kept 24 hours (docs/reference/identity-provider.md#registration-locale). */
export const RegistrationLocale = defineEntity({
  name: 'RegistrationLocale',
  properties: {
    email: p.text().primary(),
    orgId: p.text().primary(),
    locale: p.text(),
    at: stamp(),
  },
});
