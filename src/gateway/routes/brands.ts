/** Brands (docs/reference/brands.md). */

import { z } from 'zod';
import { isHostName, RULES } from '../../base/grammar.ts';
import type { BrandRow } from '../../brands/brands.ts';
import { shownSmtp } from '../../brands/smtp.ts';
import { email, id, idParam, line, name, readOnly, slug, storableUrl, text, timestamp } from '../route/fields.ts';
import { panelEntry, superAdmin } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route, removed } from '../route/route.ts';

const SmtpAnswer = record('BrandSmtp', {
  host: z.string(),
  port: z.int(),
  secure: z.boolean(),
  allowInsecure: z.boolean(),
  user: z.string().nullable(),
  auth: z.enum(['password', 'oauth2']),
  hasPassword: z.boolean(),
  oauth2: record('BrandOAuth2', {
    tokenUrl: z.string(),
    clientId: z.string(),
    scope: z.string().nullable(),
    hasClientSecret: z.boolean(),
    hasRefreshToken: z.boolean(),
  })
    .nullable()
    .meta({ description: 'Null with `auth: password`.' }),
});

export const Brand = record('Brand', {
  id,
  slug: z.string(),
  name: z.string(),
  isDefault: z.boolean(),
  primaryColor: z.string().nullable(),
  backgroundColor: z.string().nullable(),
  logoUrl: z.string().nullable(),
  iconUrl: z.string().nullable(),
  footerText: z.string().nullable(),
  emailFrom: z.string().nullable(),
  emailFromName: z.string().nullable(),
  smtp: SmtpAnswer.nullable().optional().meta({ description: 'For SuperAdmins only; never a secret.' }),
  idpOrgId: z.string().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

const Params = z.strictObject({ id: idParam });

/** A color of a brand; null: the default one. */
export const brandColor = z
  .string()
  .regex(/^#[0-9a-fA-F]{6}$/, 'must be a color such as #1a2b3c')
  .nullable();

const host = z.string().refine(isHostName, `must be ${RULES.hostName}`);

function secret(max: number, description: string) {
  return z
    .string()
    .min(1, 'must not be empty; null removes it')
    .max(max)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must not contain NUL or lone surrogates')
    .nullable()
    .meta({ description });
}

/**
 * What an answer says of a secret may come back, and is ignored. It is not documented: generators make a function `hasPassword` of the
 * field `password`, which a field of that name would hide.
 */
const saidOfSecret = readOnly.meta({ unlisted: true });

const OAuth2 = record('BrandOAuth2Fields', {
  tokenUrl: storableUrl(true).optional().meta({
    description:
      'Where access tokens are fetched: https on the internet, the origin of `auth.issuer`, or an origin of the configuration key `brands.tokenOrigins`; outside production this machine, too.',
  }),
  clientId: line(1000).optional(),
  clientSecret: secret(
    4000,
    'Write-only. Required without a refresh token. Required again when host, port, user, tokenUrl or clientId change; null removes it.',
  ).optional(),
  scope: line(2000).nullable().optional().meta({ description: 'Sent with each request for a token; null sends none.' }),
  refreshToken: secret(
    8000,
    'Write-only. Without one, tokens are requested with client credentials. Required again when host, port, user, tokenUrl or clientId change; null removes it.',
  ).optional(),
  hasClientSecret: saidOfSecret,
  hasRefreshToken: saidOfSecret,
});

const smtpFields = {
  secure: z.boolean().meta({ description: 'TLS from the first byte (port 465); false: STARTTLS.' }),
  allowInsecure: z
    .boolean()
    .meta({ description: 'Send even without TLS or a valid certificate. Loopback servers never need either.' }),
  user: line(320).nullable(),
  auth: z.enum(['password', 'oauth2']).meta({
    description:
      'How to sign in. `oauth2` (XOAUTH2, OAUTHBEARER) needs `user` and `oauth2`; a change removes the secrets of the other kind.',
  }),
  password: secret(1000, 'Write-only. Required again when host, port or user change; null removes it.'),
};

const Smtp = record('BrandSmtpFields', {
  host: host.optional(),
  port: z.int().min(1).max(65_535).optional(),
  secure: smtpFields.secure.optional(),
  allowInsecure: smtpFields.allowInsecure.optional(),
  user: smtpFields.user.optional(),
  auth: smtpFields.auth.optional(),
  password: smtpFields.password.optional(),
  oauth2: OAuth2.nullable().optional(),
  hasPassword: saidOfSecret,
});

/** Fields that both creation and change take. `allowHttp`: outside production. */
function fields(allowHttp: boolean) {
  const url = storableUrl(allowHttp).nullable().optional();
  return {
    isDefault: z
      .boolean()
      .optional()
      .meta({ description: 'True makes it the default instead of the current one; there is always exactly one.' }),
    primaryColor: brandColor.optional(),
    backgroundColor: brandColor.optional(),
    logoUrl: url,
    iconUrl: url,
    footerText: text(2000).nullable().optional(),
    emailFrom: email.nullable().optional(),
    emailFromName: line(200).nullable().optional(),
    idpOrgId: line(200).nullable().optional(),
    smtp: Smtp.nullable().optional(),
  };
}

/** Only SuperAdmins see SMTP. */
export function brandToJson(row: BrandRow, withSmtp: boolean): z.input<typeof Brand> {
  const shown = Object.fromEntries(Object.entries(row).filter(([column]) => !column.startsWith('smtp')));
  // What is left is the record without its server.
  const brand = shown as Omit<BrandRow, `smtp${string}`>;
  return { ...brand, ...(withSmtp ? { smtp: shownSmtp(row) } : {}) };
}

const listBrands = defineRoute({
  method: 'get',
  path: '/api/admin/brands',
  operation: 'listBrands',
  tag: 'Brands',
  summary: 'All brands',
  guard: panelEntry,
  response: z.array(Brand),
  handle: async ({ brands, engine }, { caller, signal }) => {
    const { person } = await engine.person(caller.email, { signal });
    return (await brands.list()).map((row) => brandToJson(row, person.superadmin));
  },
});

const readBrand = defineRoute({
  method: 'get',
  path: '/api/admin/brands/:id',
  operation: 'getBrand',
  tag: 'Brands',
  summary: 'One brand',
  guard: panelEntry,
  params: Params,
  response: Brand,
  errors: ['NOT_FOUND'],
  handle: async ({ brands, engine }, { params, caller, signal }) => {
    const { person } = await engine.person(caller.email, { signal });
    return brandToJson(await brands.get(params.id), person.superadmin);
  },
});

function createBrand(allowHttp: boolean): Route {
  return defineRoute({
    method: 'post',
    path: '/api/admin/brands',
    operation: 'createBrand',
    tag: 'Brands',
    summary: 'Create a brand',
    guard: superAdmin,
    refusal: 'brand.created.refused',
    body: z.strictObject({ slug, name, ...fields(allowHttp) }),
    status: 201,
    response: Brand,
    errors: ['ALREADY_EXISTS'],
    example: {
      body: {
        slug: 'atelier',
        name: 'Atelier',
        primaryColor: '#3451b2',
        emailFrom: 'hello@atelier.example.com',
        smtp: { host: 'smtp.example.com', port: 587, user: 'atelier', password: 'a password' },
      },
    },
    handle: async ({ brands }, input) => {
      const { result, revision } = await brands.create(input.body, input);
      return answer(brandToJson(result, true), { revision, location: `/api/admin/brands/${result.id}` });
    },
  });
}

function changeBrand(allowHttp: boolean): Route {
  return defineRoute({
    method: 'put',
    path: '/api/admin/brands/:id',
    operation: 'updateBrand',
    tag: 'Brands',
    summary: 'Change a brand',
    description:
      'Changes the fields sent, also within `smtp`. `smtp: null` removes the mail server, `idpOrgId: null` the organization.',
    guard: superAdmin,
    refusal: 'brand.changed.refused',
    params: Params,
    body: z.strictObject({
      slug: slug.optional().meta({ description: 'Cannot be changed; only the current one may be sent.' }),
      name: name.optional(),
      ...fields(allowHttp),
      id: readOnly,
      createdAt: readOnly,
      updatedAt: readOnly,
    }),
    response: Brand,
    errors: ['NOT_FOUND', 'IMMUTABLE_FIELD', 'ALREADY_EXISTS'],
    example: { body: { idpOrgId: '285181292935381355' } },
    handle: async ({ brands }, input) => {
      const { result, revision } = await brands.change(input.params.id, input.body, input);
      return answer(brandToJson(result, true), { revision });
    },
  });
}

const deleteBrand = defineRoute({
  method: 'delete',
  path: '/api/admin/brands/:id',
  operation: 'deleteBrand',
  tag: 'Brands',
  summary: 'Delete a brand',
  description: 'Refused for the default brand and for brands that users or an organization use.',
  guard: superAdmin,
  refusal: 'brand.deleted.refused',
  params: Params,
  errors: ['NOT_FOUND', 'BRAND_IN_USE'],
  handle: async ({ brands }, input) => removed(await brands.delete(input.params.id, input)),
});

const testEmail = defineRoute({
  method: 'post',
  path: '/api/admin/brands/:id/test-email',
  operation: 'sendBrandTestEmail',
  tag: 'Brands',
  summary: "Send a test through a brand's mail server",
  guard: superAdmin,
  refusal: 'brand.tested.refused',
  params: Params,
  body: z.strictObject({ to: email }),
  response: z.strictObject({ sent: z.literal(true), smtp: z.strictObject({ response: z.string() }) }),
  errors: ['NOT_FOUND', 'SMTP_FAILED'],
  example: { body: { to: 'admin@example.com' } },
  deadlineMs: 30_000,
  handle: async ({ brands }, input) => {
    const { response } = await brands.sendTest(input.params.id, input.body.to, input, input.signal);
    return { sent: true as const, smtp: { response } };
  },
});

export function brandRoutes(production: boolean): readonly Route[] {
  return [listBrands, readBrand, createBrand(!production), changeBrand(!production), deleteBrand, testEmail];
}
