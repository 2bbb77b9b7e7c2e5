/** What the identity provider's admin API answers, as schemas. Zero values are left out there; unknown members are ignored. */

import { z } from 'zod';

const id = z.string().min(1);
const text = z.string().default('');

export const EmailProviders = z.object({
  result: z
    .array(
      z.object({
        id,
        description: text,
        http: z.object({ endpoint: text, signingKey: text }).optional(),
      }),
    )
    .default([]),
});
export const OneEmailProvider = z.object({
  config: z.object({ id, description: text, http: z.object({ endpoint: text, signingKey: text }).optional() }),
});
export const NewEmailProvider = z.object({ id, signingKey: text });
export const ChangedEmailProvider = z.object({ signingKey: text });
export const Organizations = z.object({
  result: z.array(z.object({ id, state: text, name: text, primaryDomain: text })).default([]),
});
export const OneOrganization = z.object({ org: z.object({ id, state: text, name: text, primaryDomain: text }) });
export const NewOrganization = z.object({ organizationId: id });
export const LabelPolicy = z.object({
  policy: z.looseObject({ primaryColor: text, logoUrl: text, isDefault: z.boolean().default(false) }),
  isDefault: z.boolean().default(false),
});
export const Named = z.object({ result: z.array(z.object({ id, name: text })).default([]) });
export const Apps = z.object({
  result: z.array(z.object({ id, name: text, oidcConfig: z.object({ clientId: text }).optional() })).default([]),
});
export const Made = z.object({ id });
export const NewApp = z.object({ appId: id, clientId: id });
/** A person among the provider's users; its machines have none of this. */
export const Human = z.object({
  profile: z.object({ givenName: text, familyName: text, displayName: text }).optional(),
  email: z.object({ email: text }).optional(),
});
export const Users = z.object({
  result: z
    .array(
      z.object({
        userId: id,
        human: Human.optional(),
      }),
    )
    .default([]),
});

export const OneUser = z.object({
  user: z.object({
    userId: id,
    state: text,
    details: z.object({ resourceOwner: text }).optional(),
    human: Human.optional(),
  }),
});
