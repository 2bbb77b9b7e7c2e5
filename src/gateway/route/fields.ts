/** Fields that many bodies and paths share, by the grammar of all transports (docs/reference/names.md). */

import { z } from 'zod';
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
  normalizeEmail,
  RULES,
} from '../../base/grammar.ts';
import { isMoment, MOMENT } from '../../base/moments.ts';
import { timeZoneOf } from '../../base/time-zones.ts';

const ID_RULE = 'must be the id of a record: a whole number from 1, without leading zeros';

/** An id in a path, at most 2^53. */
export const idParam = z
  .string()
  .regex(/^[1-9][0-9]{0,15}$/, ID_RULE)
  .transform(Number)
  .refine(Number.isSafeInteger, ID_RULE)
  .meta({ description: 'The number of the record.' });

/** An id in a body. */
export const id = z.int().positive();

export const slug = z.string().refine(isSlug, `must be ${RULES.slug}`);

export const permissionCode = z
  .string()
  .refine(isPermissionCode, { error: ({ input }) => codeFault(input, RULES.permissionCode) });

export const roleCode = z.string().refine(isRoleCode, { error: ({ input }) => codeFault(input, RULES.roleCode) });

function codeFault(input: unknown, rule: string): string {
  return String(input).includes('*') ? RULES.noWildcard : `must be ${rule}`;
}

/** A permission as an item of a body names it: by its id, or by its code. */
export interface NamedPermission {
  permissionId?: number | undefined;
  permission?: string | undefined;
}

/** The fields of a NamedPermission. `permissionSet` makes sure that there is one of them. */
export const namedPermission = {
  permissionId: id.optional(),
  permission: permissionCode.optional().meta({ description: 'The code, in place of the id.' }),
  code: z.string().optional().meta({ description: 'As read: must be the code of the named permission.' }),
};

/** A list of items about permissions, each permission once: a body replaces the whole set. */
export function permissionSet<Item extends z.ZodType<NamedPermission>>(item: Item) {
  return z
    .array(item)
    .max(1000)
    .superRefine((all, context) => {
      const seen = new Set<number | string>();
      all.forEach(({ permissionId, permission }, index) => {
        const reference = permissionId ?? permission;
        const path = [index, permissionId === undefined ? 'permission' : 'permissionId'];
        if (reference === undefined || (permissionId !== undefined && permission !== undefined)) {
          const message = 'send either permissionId or permission (its code)';
          context.addIssue({ code: 'custom', path: [index, 'permissionId'], message });
        } else if (seen.has(reference)) {
          context.addIssue({
            code: 'custom',
            path,
            message: 'repeats a permission of an earlier item; send each once',
          });
        } else seen.add(reference);
      });
    });
}

/** The permission that an item of such a set names: its id, or its code. */
export function permissionOf(item: NamedPermission): number | string {
  const reference = item.permissionId ?? item.permission;
  if (reference === undefined) throw new Error('the schema requires permissionId or permission');
  return reference;
}

/** The application that a path names. A malformed code is 404, as an unknown one is. */
export const AppParams = z.strictObject({ appCode: z.string().meta({ description: "The application's code." }) });

export const applicationCode = z.string().refine(isApplicationCode, `must be ${RULES.applicationCode}`);

/** Normalized: the output is the address in the form that is stored. */
export const email = z
  .string()
  .transform((text, context) => {
    const normal = normalizeEmail(text);
    if (normal !== null) return normal;
    context.addIssue({ code: 'custom', message: `must be ${RULES.email}` });
    return z.NEVER;
  })
  .meta({ description: 'An e-mail address; case does not matter.' });

/** The person that a path names; the address is normalized. */
export const EmailParams = z.strictObject({ email });

/** The person and the application that a path names. */
export const MemberParams = z.strictObject({ ...EmailParams.shape, ...AppParams.shape });

/** Text for people: line breaks and tabs, no other control characters, no lone surrogates, at most `max` code points. */
export function text(max: number) {
  return z
    .string()
    .refine((value) => !isLongerThan(value, max), `must be at most ${max} characters`)
    .refine(
      (value) => !hasForbiddenCharacters(value.replace(/[\n\r\t]/g, ' ')),
      'must not contain control characters or lone surrogates',
    );
}

/** One line of text for people, not empty: safe in a mail header. */
export function line(max: number) {
  return text(max)
    .refine((value) => value.trim() !== '', 'must not be empty')
    .refine((value) => !hasForbiddenCharacters(value), 'must be one line, without control characters');
}

/** A URL that may be stored; `http` outside production only (docs/reference/names.md#urls). */
export function storableUrl(allowHttp: boolean) {
  return z
    .string()
    .refine((value) => isStorableUrl(value, allowHttp), `must be ${allowHttp ? RULES.url : RULES.httpsUrl}`);
}

/** An object with any members. */
export const freeObject = z.record(z.string(), z.unknown());

export const name = line(200);
export const description = text(2000).nullable();

export const languageCode = z.string().refine(isLanguageCode, `must be ${RULES.language}`);

/** The output is IANA's own spelling, which is stored. */
export const timeZone = z
  .string()
  .transform((text, context) => {
    const name = timeZoneOf(text);
    if (name !== null) return name;
    context.addIssue({ code: 'custom', message: `must be ${RULES.timeZone}` });
    return z.NEVER;
  })
  .meta({ description: "A name or link of IANA's time zones; case does not matter." });

/** A read-only field of a record: a PUT may send it back, and it is ignored (docs/reference/http.md#bodies). */
export const readOnly = z.unknown().optional();

/** A time in an answer. Handlers give the Date of a row, which JSON writes in this form. */
export const timestamp = z.codec(z.union([z.date(), z.iso.datetime()]), z.iso.datetime(), {
  decode: (at) => (at instanceof Date ? at.toISOString() : at),
  encode: (at) => at,
});

/** When a grant begins and when it has ended, in an answer; null: no bound (docs/reference/time.md). */
export const windowFields = {
  startsAt: timestamp.nullable().meta({ description: 'From when the grant counts; null: always.' }),
  endsAt: timestamp.nullable().meta({ description: 'From when on the grant no longer counts; null: never.' }),
};

const MOMENT_RULE = `must be ${MOMENT}`;
const moment = z
  .string(MOMENT_RULE)
  .refine(isMoment, MOMENT_RULE)
  .meta({ format: 'date-time' })
  .transform((text) => new Date(text));

/** `?endingWithinDays=`: only grants that end within that number of days. */
export const endingWithinDays = z
  .string()
  .regex(/^[1-9][0-9]{0,2}$/, 'must be a whole number from 1 to 365')
  .transform(Number)
  .refine((days) => days <= 365, 'must be a whole number from 1 to 365')
  .optional();

/** The window of a grant in a body: absent leaves what is there, null clears it (docs/reference/time.md#windows-in-requests). */
export const wantedWindow = {
  startsAt: moment
    .nullable()
    .optional()
    .meta({ description: 'From when the grant counts. Absent: as it is; null: always.' }),
  endsAt: moment
    .nullable()
    .optional()
    .meta({ description: 'From when on it no longer counts, at most 10 years ahead. Absent: as it is; null: never.' }),
};

/** The identifier of a record of an application's entity, kept as given. */
export const resourceId = z.string().refine(isResourceId, `must be ${RULES.resourceId}`);

/** `?q=`: text to search for literally; null when absent or blank. */
export const search = text(200)
  .optional()
  .transform((value) => (value === undefined || value === '' ? null : value))
  .meta({ description: 'Text to search for, taken literally.' });

/** A boolean in a query: text, which the document calls what it must be. */
export const flagParam = z
  .enum(['true', 'false'])
  .transform((value) => value === 'true')
  .meta({ type: 'boolean', enum: undefined });
