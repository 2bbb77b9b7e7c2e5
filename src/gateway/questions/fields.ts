/** Questions as REST bodies, and decisions as REST answers (docs/reference/decisions.md#strict-questions). */

import { z } from 'zod';
import { LIMITS } from '../../base/grammar.ts';
import type { RawQuestion } from '../../engine/question.ts';
import type { EffectiveItem } from '../../engine/types.ts';
import { Level, Source } from '../../engine/types.ts';

// Only what JSON itself can get wrong is said here; what an address or a code may be, engine/question.ts says for all doors.
const present = (description: string) => z.string().min(1, 'must not be empty').meta({ description });
const optional = (description: string) => z.string().min(1, 'must not be empty').nullish().meta({ description });

export const emailField = present("The user's e-mail address. ASCII; upper and lower case are one.");
export const appField = present("The application's code.");
export const permissionField = present("The permission's code.");
export const permissionsField = z
  .array(present("A permission's code."))
  .min(1)
  .max(LIMITS.bulkPermissions)
  .meta({ description: `1 to ${LIMITS.bulkPermissions} codes; a repeated one is answered once.` });

/** Both or neither; null is absent. */
export const resourceFields = {
  resourceType: optional('With `resourceId`: the record that the question is about. Both or neither.'),
  resourceId: optional('The identifier of the record, compared as it is.'),
};

export const levelField = z
  .enum(['view', 'edit'])
  .nullish()
  .meta({ description: 'The least level that will do for a tiered permission. Without it any level allows.' });

export interface ResourceFields {
  resourceType?: string | null | undefined;
  resourceId?: string | null | undefined;
}

/** A body's fields as the reader of all doors takes them: '' is absent. */
export function rawSubject(email: string, body: { app: string } & ResourceFields): Omit<RawQuestion, 'permission'> {
  return { email, app: body.app, resourceType: body.resourceType ?? '', resourceId: body.resourceId ?? '' };
}

/** The level asked for; NONE asks for any. */
export function askedLevel(level: 'view' | 'edit' | null | undefined): Level {
  if (level === 'edit') return Level.EDIT;
  return level === 'view' ? Level.VIEW : Level.NONE;
}

/** A level by name, and what it means. */
export const accessLevel = z.enum(['allowed', 'view', 'edit']);
export const LEVELS = { allowed: Level.ALLOWED, view: Level.VIEW, edit: Level.EDIT } as const;

/** What is held, in answers; nothing held has no name. */
export const LEVEL_NAMES = { [Level.ALLOWED]: 'allowed', [Level.VIEW]: 'view', [Level.EDIT]: 'edit' } as const;
const SOURCE_NAMES = {
  [Source.ROLE]: 'role',
  [Source.OVERRIDE]: 'override',
  [Source.SUPERADMIN]: 'superadmin',
  [Source.APP_ADMIN]: 'app_admin',
} as const;

type LevelName = (typeof LEVEL_NAMES)[keyof typeof LEVEL_NAMES];
type SourceName = (typeof SOURCE_NAMES)[keyof typeof SOURCE_NAMES];

const effectiveFields = {
  code: z.string(),
  type: z.enum(['binary', 'tiered']),
  groupName: z.string().nullable(),
  global: z.boolean().meta({ description: 'Whether overrides for single records are ignored for it.' }),
  accessLevel: accessLevel.nullable().meta({ description: 'What is held; null: nothing.' }),
  granted: z.boolean(),
};

/** One permission of an effective answer to a backend. */
export const EffectivePermission = z.object({
  ...effectiveFields,
  source: z
    .enum(['role', 'override', 'superadmin', 'app_admin'])
    .nullable()
    .meta({ description: 'The rule that decided; null: none did, or the user is inactive.' }),
});

/** The same for the user himself, who sees `none` for everything not granted. */
export const MyEffectivePermission = z.object({
  ...effectiveFields,
  source: z.enum(['role', 'override', 'superadmin', 'app_admin', 'none']),
});

function common(item: EffectiveItem): {
  code: string;
  type: 'binary' | 'tiered';
  groupName: string | null;
  global: boolean;
  accessLevel: LevelName | null;
  granted: boolean;
} {
  const { code, tiered, groupName, global, level, granted } = item;
  const accessLevel = level === Level.NONE ? null : LEVEL_NAMES[level];
  return { code, type: tiered ? 'tiered' : 'binary', groupName, global, accessLevel, granted };
}

function sourceName(source: Source): SourceName | null {
  return source === Source.NONE ? null : SOURCE_NAMES[source];
}

export function effectivePermission(item: EffectiveItem): z.output<typeof EffectivePermission> {
  return { ...common(item), source: sourceName(item.source) };
}

export function myEffectivePermission(item: EffectiveItem): z.output<typeof MyEffectivePermission> {
  return { ...common(item), source: (item.granted ? sourceName(item.source) : null) ?? 'none' };
}
