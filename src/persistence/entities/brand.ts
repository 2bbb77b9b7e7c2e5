import { defineEntity, p } from '@mikro-orm/core';
import { identity, stamp } from './columns.ts';

/** A brand: appearance, sender, SMTP, and the provider's organization it stands for (docs/reference/brands.md). `smtpPassword` is sealed; `smtpKey` is the name of the key that sealed it. `smtpClientSecret` and `smtpRefreshToken` are sealed with that name in front. */
export const Brand = defineEntity({
  name: 'Brand',
  properties: {
    id: identity(),
    slug: p.text(),
    name: p.text(),
    isDefault: p.boolean().default(false),
    primaryColor: p.text().nullable(),
    backgroundColor: p.text().nullable(),
    logoUrl: p.text().nullable(),
    iconUrl: p.text().nullable(),
    footerText: p.text().nullable(),
    emailFrom: p.text().nullable(),
    emailFromName: p.text().nullable(),
    smtpHost: p.text().nullable(),
    smtpPort: p.integer().nullable(),
    smtpSecure: p.boolean().default(false),
    smtpAllowInsecure: p.boolean().default(false),
    smtpUser: p.text().nullable(),
    smtpPassword: p.text().nullable(),
    smtpKey: p.text().nullable(),
    smtpAuth: p.text().$type<'password' | 'oauth2'>().default('password'),
    smtpTokenUrl: p.text().nullable(),
    smtpClientId: p.text().nullable(),
    smtpClientSecret: p.text().nullable(),
    smtpScope: p.text().nullable(),
    smtpRefreshToken: p.text().nullable(),
    idpOrgId: p.text().nullable(),
    createdAt: stamp(),
    updatedAt: stamp(),
  },
});
