/**
 * The content of a manifest: one application, as plain data (docs/reference/command-line.md#manifests). From these schemas come the
 * types, the checks (read.ts), the form of an export (export.ts), the OpenAPI document and the JSON Schema that editors use.
 * The input of a schema is the content of the file, its output the record that the plan compares.
 *
 * - A section that is absent is left alone, with `prune` too. An empty one (`admins: []`) names nothing.
 * - A named record is described completely: an absent optional field has its default. A role's `permissions`
 *   and the application's `supportedLanguages`, `strictCodes` and `tellEndings` are such fields.
 * - Without `prune` no unnamed record is removed. With it, records that a present section does not name are removed.
 * - The same record named twice is refused, also an address in two spellings.
 */

import { z } from 'zod';
import {
  CHANNEL_FIELDS,
  CHANNEL_NAMES,
  OPTIONAL_PART_DESCRIPTIONS,
  OPTIONAL_PARTS,
  recordOf,
  TYPE_SWITCHES,
  type TypeSwitch,
} from '../../base/channels.ts';
import { keysOf } from '../../base/own-keys.ts';
import { describe } from './faults.ts';

import {
  AccessLevel,
  Admin,
  ApplicationCode,
  code,
  DEFAULT_TEMPLATE_KEY,
  description,
  Email,
  GivenRole,
  Language,
  listOf,
  optional,
  PermissionCode,
  prose,
  ResourceId,
  RoleCode,
  refuseTurned,
  SAME_CODE,
  Slug,
  TEMPLATE_LIMITS,
  TEXT_LIMITS,
  text,
  Url,
  windowed,
  words,
} from './schema-fields.ts';

export type { AccessLevel } from './schema-fields.ts';
export { NO_PERMISSION_CODE, TEMPLATE_LIMITS, type Window } from './schema-fields.ts';

export const Application = z
  .strictObject(
    {
      code: ApplicationCode.meta({ description: 'Identifies the application; cannot change.', examples: ['billing'] }),
      name: optional(words(TEXT_LIMITS.name), null, 'The display name. Required for a new application.'),
      description,
      supportedLanguages: listOf(
        Language,
        'Codes of the language registry, in the order given; empty means any language.',
      ),
      strictCodes: optional(
        z.boolean(),
        false,
        'Whether a question with an unknown code is refused instead of denied.',
      ),
      tellEndings: optional(z.boolean(), true, 'Whether people are told that a grant of theirs ends soon.'),
    },
    {
      error: ({ input }) =>
        input === undefined
          ? 'application is missing: application: {code, name, description?, supportedLanguages?, strictCodes?}'
          : undefined,
    },
  )
  .meta({ description: 'The application.' });

export const Entity = z.strictObject({
  code,
  name: words(TEXT_LIMITS.name).meta({ description: 'The display name.' }),
  description,
  idLabel: optional(words(TEXT_LIMITS.idLabel), null, 'How the panel labels the field for a resourceId.'),
  listEndpoint: optional(Url, null, 'The endpoint from which the panel lists the records of this kind.'),
  listSearch: optional(z.boolean(), false, 'Whether that endpoint takes `q`, `cursor` and `ids`.'),
});

export const Permission = z.strictObject({
  code: PermissionCode.meta({ description: 'The code that checks ask for.', examples: ['invoice.access'] }),
  type: z.enum(['binary', 'tiered']).meta({
    description: '`binary` has one level, `allowed`; `tiered` has `view`, and `edit`, which includes `view`.',
  }),
  description,
  groupName: optional(words(TEXT_LIMITS.groupName), null, 'The group in which the panel lists it.'),
  parent: optional(PermissionCode, null, "The code of the parent in the panel's tree; has no effect on decisions."),
  global: optional(z.boolean(), false, 'True: the same for every record, without overrides.'),
});

export const Role = z.strictObject({
  code: RoleCode.meta({ description: SAME_CODE }),
  name: optional(words(TEXT_LIMITS.name), null, 'The display name; without one the code is shown.'),
  description,
  permissions: z
    .record(PermissionCode, AccessLevel)
    .nullish()
    .transform((levels): ReadonlyMap<string, AccessLevel> => new Map(Object.entries(levels ?? {})))
    .meta({
      description: 'The permissions that it grants: `allowed` for a binary one, `view` or `edit` for a tiered one.',
      examples: [{ 'invoice.access': 'view' }],
    }),
});

function aboutSwitch(field: TypeSwitch): string {
  if (field === 'userCanDisable') return 'Whether people may switch it off.';
  if (field === 'selfServiceEnabled') return 'Whether people see it among their preferences.';
  const always = CHANNEL_NAMES.find((name) => CHANNEL_FIELDS[name].enabled === field);
  if (always !== undefined) return `Whether it is sent by ${always} at all.`;
  const first = CHANNEL_NAMES.find((name) => CHANNEL_FIELDS[name].default === field);
  return `Whether it is sent by ${first} until somebody switches that off.`;
}

export const NotificationType = z.strictObject({
  code,
  name: words(TEXT_LIMITS.name).meta({ description: 'The display name.' }),
  description,
  emailFromName: optional(
    words(TEXT_LIMITS.emailFromName),
    null,
    "The sender name of its mails, instead of the brand's.",
  ),
  ...recordOf(TYPE_SWITCHES, (field) => optional(z.boolean(), true, aboutSwitch(field))),
  system: optional(z.boolean(), false, 'Whether the service itself needs it; never changes.'),
});

export const Template = z.strictObject({
  type: Slug.meta({ description: 'The code of the notification type.' }),
  key: optional(Slug, DEFAULT_TEMPLATE_KEY, 'Distinguishes several templates of a type.'),
  locale: Language.meta({ description: 'Its language, from the language registry.', examples: ['en'] }),
  subject: words(TEMPLATE_LIMITS.subject, true).meta({ description: 'Liquid.' }),
  html: prose(TEMPLATE_LIMITS.html).meta({ description: 'Liquid; may be empty.' }),
  ...recordOf(OPTIONAL_PARTS, (part) =>
    optional(prose(TEMPLATE_LIMITS[part]), null, `Liquid. ${OPTIONAL_PART_DESCRIPTIONS[part]}`),
  ),
  requiredVariables: listOf(
    words(TEMPLATE_LIMITS.variable, true),
    'Variables that a send must provide.',
    TEMPLATE_LIMITS.variables,
  ),
});

export const Assignment = z.strictObject({
  email: Email.meta({ description: 'The user. They need not have signed in before.' }),
  roles: z
    .array(GivenRole)
    .superRefine(
      (items: readonly unknown[], context) => {
        const seen = new Set<string>();
        for (const [at, item] of items.entries()) {
          // Of a list with faults some are as they were written.
          const { data: role } = RoleCode.safeParse(
            typeof item === 'object' && item !== null && 'role' in item ? item.role : item,
          );
          if (role === undefined) continue;
          if (seen.has(role))
            context.addIssue({ code: 'custom', path: [at], message: `${describe(role)} is listed twice` });
          seen.add(role);
        }
      },
      { when: ({ value }) => Array.isArray(value) },
    )
    .meta({ description: 'Codes of roles of this application, or items with a window.', uniqueItems: true }),
});

export const Override = z
  .strictObject({
    email: Email.meta({ description: 'The user.' }),
    resourceType: Slug.meta({ description: 'The code of an entity.' }),
    resourceId: ResourceId.meta({
      description: 'The id of the record. Text: a number needs quotes.',
      examples: ['1042'],
    }),
    permission: PermissionCode.meta({ description: 'The code of a permission that is not global.' }),
    granted: z.boolean().meta({ description: 'Whether it is allowed or denied, regardless of roles.' }),
    accessLevel: optional(
      AccessLevel,
      null,
      'With `granted: true`: `allowed` for a binary permission, `view` or `edit` for a tiered one; default: the highest.',
    ),
    ...windowed,
  })
  .superRefine(refuseTurned)
  .superRefine(
    ({ granted, accessLevel }, context) => {
      if (granted !== false || accessLevel === null || !AccessLevel.safeParse(accessLevel).success) return;
      context.addIssue({
        code: 'custom',
        path: ['accessLevel'],
        message: 'a denial has no accessLevel: remove it from granted: false',
        params: { code: 'INVALID_ACCESS_LEVEL' },
      });
    },
    { when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value) },
  )
  .meta({
    // The rule above in JSON Schema.
    not: {
      properties: { granted: { const: false }, accessLevel: { enum: AccessLevel.options } },
      required: ['granted', 'accessLevel'],
    },
  });

/** A case of a policy test (docs/reference/command-line.md#policy-tests). */
export const PolicyTest = z
  .strictObject({
    name: words(TEXT_LIMITS.name).optional().meta({ description: 'Shown in reports.' }),
    email: z.string().meta({ description: 'The user whose permission is checked.', examples: ['ada@example.com'] }),
    permission: z.string().meta({ description: 'The code of the permission.', examples: ['invoice.access'] }),
    resource: text((value) => /^[^:]+:./s.test(value), 'is not a resource: write TYPE:ID, such as invoice:17', {
      pattern: '^[^:]+:.',
    })
      .optional()
      .meta({ description: 'The record, as TYPE:ID.' }),
    level: z.enum(['view', 'edit']).optional().meta({ description: 'The minimum level.' }),
    expect: z.enum(['allowed', 'denied', 'view', 'edit']).meta({
      description: '`view` and `edit` mean exactly that level is held.',
    }),
    via: z
      .enum(['role', 'override', 'app_admin', 'superadmin', 'none'])
      .optional()
      .meta({ description: 'The rule that must decide.' }),
  })
  .refine(({ level, expect }) => level === undefined || expect === 'allowed' || expect === 'denied', {
    path: ['level'],
    error: 'belongs to expect: allowed or denied; expect: view and expect: edit already name a level',
  });
export type PolicyTest = z.output<typeof PolicyTest>;

/** The list sections, in the order of display and of carrying out. */
export const SECTIONS = {
  entities: z.array(Entity).meta({
    description:
      'The kinds of records that overrides can name. With at least one, overrides for other kinds are refused.',
  }),
  permissions: z.array(Permission).meta({ description: 'The permissions.' }),
  roles: z.array(Role).meta({ description: 'Bundles of permissions. Of several roles the highest level counts.' }),
  notificationTypes: z.array(NotificationType).meta({
    description: 'The notification types. Every application has `generic`, which `prune` does not remove.',
  }),
  templates: z.array(Template).meta({ description: 'The templates of notification types, one per language.' }),
  admins: z.array(Admin).meta({
    description: 'Users who are allowed everything in the application: addresses, or items with a window.',
    examples: [['nora@example.com']],
  }),
  assignments: z.array(Assignment).meta({ description: 'The roles of users.' }),
  overrides: z.array(Override).meta({
    description: 'Exceptions for one user and one record. They beat every role, in both directions.',
  }),
};
export type Section = keyof typeof SECTIONS;
export const SECTION_NAMES = keysOf(SECTIONS);

/** An exported manifest: every section is present. */
export const Exported = z.strictObject({ application: Application, ...SECTIONS });

/** A manifest in a file: an absent section is left alone. */
export const Manifest = Exported.partial()
  .required({ application: true })
  .extend({
    tests: z
      .array(PolicyTest)
      .optional()
      .meta({ description: 'Cases for `usher test`. Applying ignores them, and an export has none.' }),
  })
  .meta({
    title: 'Usher manifest',
    description:
      'One application: its permissions, who holds them, and the exceptions. An absent section is left alone.',
    examples: [
      {
        application: { code: 'billing', name: 'Billing' },
        permissions: [{ code: 'invoice.access', type: 'tiered' }],
        roles: [{ code: 'accountant', permissions: { 'invoice.access': 'edit' } }],
        assignments: [{ email: 'ann@example.com', roles: ['accountant'] }],
      },
    ],
  });

const OWN_SECTION = 'A section of your own, such as anchors that others refer to. Applying ignores it.';

/** The schema for editors, pipelines and the OpenAPI document. Editors support draft 7 best. */
export function manifestSchema(target: 'draft-7' | 'draft-2020-12' = 'draft-7'): Record<string, unknown> {
  return z.toJSONSchema(Manifest, {
    io: 'input',
    target,
    // zod omits these two for schemas that transform their input. Here they describe the input.
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema === Manifest) jsonSchema.patternProperties = { '^x-': { description: OWN_SECTION } };
      const { default: fallback = null, examples } = z.globalRegistry.get(zodSchema) ?? {};
      if (fallback !== null) jsonSchema.default = fallback as never;
      else delete jsonSchema.default;
      if (examples !== undefined) jsonSchema.examples = examples as never;
    },
  });
}
