/** Fields of manifests that several records share, and the windows of grants. */

import { z } from 'zod';
import { TEMPLATE_PARTS } from '../../base/channels.ts';
import {
  hasForbiddenCharacters,
  isApplicationCode,
  isLanguageCode,
  isLongerThan,
  isPermissionCode,
  isResourceId,
  isRoleCode,
  isSlug,
  isStorableUrl,
  LIMITS,
  normalizeEmail,
  PATTERNS,
  RULES,
} from '../../base/grammar.ts';
import { isMoment, MOMENT } from '../../base/moments.ts';
import { describe } from './faults.ts';

/** Lengths of text that no grammar bounds, in code points. */
export const TEXT_LIMITS = { name: 200, description: 2000, groupName: 200, idLabel: 200, emailFromName: 200 } as const;

/** The same for a template's parts, as at its own endpoint. */
export const TEMPLATE_LIMITS = {
  ...TEMPLATE_PARTS,
  variable: 128,
  variables: 100,
  /** All templates of a manifest together, in UTF-16 code units: aliases can expand to more than the length of the text. */
  together: 32 * 1024 * 1024,
} as const;

/** The default key of a template. */
export const DEFAULT_TEMPLATE_KEY = 'default';

/** A text with a rule. `says` completes a message that begins with the value; `hint` is the part of the rule that JSON Schema can express. */
export function text(
  fits: (value: string) => boolean,
  says: string | ((value: string) => string),
  hint: { pattern?: string; maxLength?: number } = {},
) {
  return z
    .string()
    .refine(fits, {
      error: ({ input }) => `${describe(input)} ${typeof says === 'string' ? says : says(String(input))}`,
    })
    .meta(hint);
}

/** Text for people: not empty, without control characters, at most `max` code points. */
export function words(max: number, lines = false) {
  const fits = (value: string): boolean =>
    value.trim() !== '' && !isLongerThan(value, max) && !hasForbiddenCharacters(lines ? unfolded(value) : value);
  const says = `is empty, longer than ${max} characters, or holds control characters`;
  return text(fits, says, { pattern: '\\S', maxLength: max });
}

/** Text that a machine reads: may be empty; line breaks and tabs, no other control characters, at most `max` code points. */
export function prose(max: number) {
  const fits = (value: string): boolean => !isLongerThan(value, max) && !hasForbiddenCharacters(unfolded(value));
  return text(fits, `is longer than ${max} characters, or holds control characters`, { maxLength: max });
}

export function unfolded(value: string): string {
  return value.replace(/[\n\r\t]/g, ' ');
}

/** A field that may be absent or null, and then has the value `fallback`. */
export function optional<T extends z.ZodType, const D extends string | boolean | null>(
  schema: T,
  fallback: D,
  about: string,
) {
  return schema
    .nullish()
    .transform((value): NonNullable<z.output<T>> | D => value ?? fallback)
    .meta({ description: about, default: fallback });
}

/** A list of distinct texts. Duplicates are found even if the list has other faults. */
export function distinct(item: z.ZodType<string, string>) {
  return z
    .array(item)
    .superRefine(
      (items, context) => {
        const seen = new Set<string>();
        items.forEach((value, at) => {
          if (seen.has(value) && item.safeParse(value).success) {
            context.addIssue({ code: 'custom', path: [at], message: `${describe(value)} is listed twice` });
          }
          seen.add(value);
        });
      },
      { when: ({ value }) => Array.isArray(value) },
    )
    .meta({ uniqueItems: true });
}

export function listOf(item: z.ZodType<string, string>, about: string, max = Number.POSITIVE_INFINITY) {
  const list = distinct(item);
  const bounded = max === Number.POSITIVE_INFINITY ? list : list.max(max, `names more than ${max} variables`);
  return bounded
    .optional()
    .transform((items) => items ?? [])
    .meta({ description: about, default: [] });
}

/** A `*` is a misunderstanding, not a misspelling. */
export const NO_WILDCARD = `is not a valid code: ${RULES.noWildcard}`;
export const Slug = text(isSlug, `is not a valid code: ${RULES.slug}`, {
  pattern: PATTERNS.slug,
  maxLength: LIMITS.slug,
});
export const ApplicationCode = text(isApplicationCode, `is not a valid application code: ${RULES.applicationCode}`, {
  pattern: PATTERNS.slug,
  maxLength: LIMITS.slug,
});
/** The message for a malformed permission code. */
export const NO_PERMISSION_CODE = `is not a valid permission code: ${RULES.permissionCode}`;
export const PermissionCode = text(
  isPermissionCode,
  (value) => (value.includes('*') ? NO_WILDCARD : NO_PERMISSION_CODE),
  {
    pattern: PATTERNS.permissionCode,
    maxLength: LIMITS.permission,
  },
);
export const NO_ROLE_CODE = `is not a valid role code: ${RULES.roleCode}`;
export const RoleCode = text(isRoleCode, (value) => (value.includes('*') ? NO_WILDCARD : NO_ROLE_CODE), {
  pattern: PATTERNS.roleCode,
  maxLength: LIMITS.role,
});
export const ResourceId = text(isResourceId, `must be ${RULES.resourceId}`, { maxLength: LIMITS.resourceId });
export const Language = text(isLanguageCode, `must be ${RULES.language}`, { pattern: PATTERNS.language });
export const Url = text((value) => isStorableUrl(value, true), `must be ${RULES.url}`, {
  pattern: '^[Hh][Tt][Tt][Pp][Ss]?:',
  maxLength: LIMITS.url,
});
/** Normalized. The pattern accepts every address that the rule accepts, and some that it refuses. */
export const Email = text((value) => normalizeEmail(value) !== null, `must be ${RULES.email}`, {
  pattern: '^\\s*[^@\\s]+@[^@\\s]+\\s*$',
})
  .overwrite((value) => normalizeEmail(value) ?? value)
  .meta({ examples: ['ada@example.com'] });
export const description = optional(words(TEXT_LIMITS.description, true), null, 'A description for administrators.');
export const SAME_CODE = 'Identifies the record permanently; a record with a different code is a different record.';
export const code = Slug.meta({ description: SAME_CODE });

export const AccessLevel = z.enum(['allowed', 'view', 'edit']);
export type AccessLevel = z.output<typeof AccessLevel>;

export const Moment = text(
  isMoment,
  `is not ${MOMENT}`,
  // Accepts every time that the rule accepts, and days that no month has.
  { pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?)?(?:Z|[+-]\\d{2}:\\d{2})$' },
)
  .overwrite((value) => (Number.isNaN(Date.parse(value)) ? value : new Date(value).toISOString()))
  .meta({ examples: ['2026-12-04T18:00:00+01:00'] });

/** The window of a grant (docs/reference/time.md), to the millisecond, in UTC. */
export const windowed = {
  startsAt: optional(Moment, null, 'From when it counts; without it always.'),
  endsAt: optional(Moment, null, 'From when on it no longer counts; without it never.'),
};

/** As the manifest has it: normalized, so that two are compared as text. */
export interface Window {
  startsAt: string | null;
  endsAt: string | null;
}

/** Refuses a window that is turned round. What has ended is left alone: the same file is applied each night. */
export function refuseTurned({ startsAt, endsAt }: Window, context: z.RefinementCtx): void {
  if (startsAt === null || endsAt === null || startsAt < endsAt) return;
  context.addIssue({ code: 'custom', path: ['endsAt'], message: 'must be after startsAt' });
}

export const NEVER: Window = { startsAt: null, endsAt: null };

export const Admin = z.union([
  Email.transform((email) => ({ email, ...NEVER })),
  z.strictObject({ email: Email.meta({ description: 'The user.' }), ...windowed }).superRefine(refuseTurned),
]);

export const GivenRole = z.union([
  RoleCode.transform((role) => ({ role, ...NEVER })),
  z
    .strictObject({ role: RoleCode.meta({ description: 'The code of the role.' }), ...windowed })
    .superRefine(refuseTurned),
]);
