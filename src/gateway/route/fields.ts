/** Fields that many bodies and paths share, by the grammar that all doors use (docs/reference/names.md). */

import { z } from 'zod';
import {
  hasForbiddenCharacters,
  isApplicationCode,
  isLanguageCode,
  isLongerThan,
  isPermissionCode,
  isResourceId,
  isSlug,
  isStorableUrl,
  isTimeZone,
  normalizeEmail,
  RULES,
} from '../../base/grammar.ts';

const ID_RULE = 'must be the id of a record: a whole number from 1, without leading zeros';

/** A number in a path: an id, at most 2^53. */
export const idParam = z
  .string()
  .regex(/^[1-9][0-9]{0,15}$/, ID_RULE)
  .transform(Number)
  .refine(Number.isSafeInteger, ID_RULE)
  .meta({ description: 'The number of the record.' });

/** An id in a body. */
export const id = z.int().positive();

export const slug = z.string().refine(isSlug, `must be ${RULES.slug}`);

export const permissionCode = z.string().refine(isPermissionCode, `must be ${RULES.permissionCode}`);

/** A permission as an item of a body names it: by its id, or by its code. */
export interface NamedPermission {
  permissionId?: number | undefined;
  permission?: string | undefined;
}

/** The fields of a NamedPermission. `permissionSet` makes sure that there is one of them. */
export const namedPermission = {
  permissionId: id.optional(),
  permission: permissionCode.optional().meta({ description: 'The code, in place of the id.' }),
  code: z.string().optional().meta({ description: "As it was read: only the named permission's own." }),
};

/** What is said about permissions of an application, each once: a set that a body replaces whole. */
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
            message: 'names a permission that is named before; name each once',
          });
        } else seen.add(reference);
      });
    });
}

/** The permission that an item of such a set names: its id, or its code. */
export function permissionOf(item: NamedPermission): number | string {
  const reference = item.permissionId ?? item.permission;
  if (reference === undefined) throw new Error('the schema asks for one of both');
  return reference;
}

/** The application that a path names. What cannot be a code names none: 404, as for an unknown one. */
export const AppParams = z.strictObject({ appCode: z.string().meta({ description: "The application's code." }) });

export const applicationCode = z.string().refine(isApplicationCode, `must be ${RULES.applicationCode}`);

/** Normalised: what comes out is the address that everything else knows. */
export const email = z
  .string()
  .transform((text, context) => {
    const normal = normalizeEmail(text);
    if (normal !== null) return normal;
    context.addIssue({ code: 'custom', message: `must be ${RULES.email}` });
    return z.NEVER;
  })
  .meta({ description: 'An e-mail address; upper and lower case are one.' });

/** The person that a path names; the address is normalised as everywhere. */
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
      'must not hold control characters or lone surrogates',
    );
}

/** Text for people in one line, not empty: it can stand in a header of a mail. */
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

/** An object of whatever its sender puts into it. */
export const freeObject = z.record(z.string(), z.unknown());

export const name = line(200);
export const description = text(2000).nullable();

export const languageCode = z.string().refine(isLanguageCode, `must be ${RULES.language}`);
export const timeZone = z.string().refine(isTimeZone, `must be ${RULES.timeZone}`);
/** A read-only field of a record: it may come back in a PUT, and is ignored (docs/reference/http.md#bodies). */
export const readOnly = z.unknown().optional();

export const timestamp = z.iso.datetime();

/** The identifier of a record of an application's entity, as its owner writes it. */
export const resourceId = z.string().refine(isResourceId, `must be ${RULES.resourceId}`);

/** `?q=`: text to look for, compared as text; null where nothing is asked for. */
export const search = text(200)
  .optional()
  .transform((value) => (value === undefined || value === '' ? null : value))
  .meta({ description: 'Text to look for; nothing in it is a pattern.' });

/** A boolean in a query. */
export const flagParam = z.enum(['true', 'false']).transform((value) => value === 'true');
