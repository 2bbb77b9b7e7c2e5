/** Questions as REST bodies, and decisions as REST answers (docs/reference/decisions.md#strict-questions). */

import { z } from 'zod';
import { certain } from '../../base/certain.ts';
import { LIMITS } from '../../base/grammar.ts';
import {
  GRANTING_SOURCES,
  LEVEL_NAMES,
  type LevelName,
  RULE_NAMES,
  type RuleName,
  SOURCE_NAMES,
  type SourceName,
} from '../../base/level-names.ts';
import type { RawQuestion } from '../../engine/question.ts';
import { type Decision, type EffectiveItem, Level, type Source } from '../../engine/types.ts';
import type { CheckFields } from '../../rpc/call.ts';
import type { ExplainAnswer } from '../../rpc/explain.ts';
import type { BulkCheckFields } from '../../rpc/methods.ts';
import { record } from '../route/record.ts';

// Only JSON types are checked here; engine/question.ts checks addresses and codes for every transport.
const present = (description: string) => z.string().min(1, 'must not be empty').meta({ description });
const optional = (description: string) => z.string().min(1, 'must not be empty').nullish().meta({ description });

export const emailField = present("The user's e-mail address. ASCII; case does not matter.");
export const appField = present("The application's code.");
export const permissionField = present("The permission's code.");
export const permissionsField = z
  .array(present("A permission's code."))
  .min(1)
  .max(LIMITS.bulkPermissions)
  .meta({ description: `1 to ${LIMITS.bulkPermissions} codes; a repeated one is answered once.` });

/** Both or neither; null means absent. */
export const resourceFields = {
  resourceType: optional(
    'The type of the record that the question is about. Send it with `resourceId` or not at all.',
  ).meta({ needs: 'resourceId' }),
  resourceId: optional('The identifier of the record, compared exactly.').meta({ needs: 'resourceType' }),
};

export const levelField = z
  .enum(['view', 'edit'])
  .nullish()
  .meta({ description: 'The minimum level of a tiered permission. Without it any level allows.' });

interface ResourceFields {
  resourceType?: string | null | undefined;
  resourceId?: string | null | undefined;
}

interface SubjectBody extends ResourceFields {
  email: string;
  app: string;
}

interface LevelField {
  accessLevel?: 'view' | 'edit' | null | undefined;
}

/** A body's fields in the form of engine/question.ts: '' means absent. */
export function rawSubject({ email, app, resourceType, resourceId }: SubjectBody): Omit<RawQuestion, 'permission'> {
  return { email, app, resourceType: resourceType ?? '', resourceId: resourceId ?? '' };
}

/** As `rawSubject`, for a question about one permission. One object: checks are asked more often than anything else. */
export function rawCheck(body: SubjectBody & LevelField & { permission: string }): Omit<CheckFields, 'minRevision'> {
  const { email, app, permission, resourceType, resourceId, accessLevel } = body;
  return {
    email,
    app,
    permission,
    resourceType: resourceType ?? '',
    resourceId: resourceId ?? '',
    accessLevel: askedLevel(accessLevel),
  };
}

/** As `rawSubject`, for a question about several permissions. */
export function rawBulk(
  body: SubjectBody & LevelField & { permissions: string[] },
): Omit<BulkCheckFields, 'minRevision'> {
  return { ...rawSubject(body), permissions: body.permissions, accessLevel: askedLevel(body.accessLevel) };
}

/** The required level; NONE means any. */
export function askedLevel(level: 'view' | 'edit' | null | undefined): Level {
  if (level === 'edit') return Level.EDIT;
  return level === 'view' ? Level.VIEW : Level.NONE;
}

/** A level that is held. */
export const accessLevel = z.enum(['allowed', 'view', 'edit']);
/** The rule by which it is held. */
export const grantingSource = z.enum(GRANTING_SOURCES);

const effectiveFields = {
  code: z.string(),
  type: z.enum(['binary', 'tiered']),
  groupName: z.string().nullable(),
  global: z.boolean().meta({ description: 'Whether overrides for single records are ignored for it.' }),
  accessLevel: accessLevel.nullable().meta({ description: 'The level held; null: none.' }),
  granted: z.boolean(),
};

const source = grantingSource
  .nullable()
  .meta({ description: 'The rule that decided; null: none did, or the user is inactive.' });
const mySource = z.enum([...GRANTING_SOURCES, 'none']);

/** One permission of an effective answer to a backend. */
export const EffectivePermission = record('EffectivePermission', { ...effectiveFields, source });

export const EFFECTIVE_EXAMPLE: z.output<typeof EffectivePermission>[] = [
  {
    code: 'project.access',
    type: 'tiered',
    groupName: 'Projects',
    global: false,
    accessLevel: 'edit',
    granted: true,
    source: 'role',
  },
];

/** The same for users themselves, who see `none` for everything not granted. */
export const MyEffectivePermission = record('MyEffectivePermission', { ...effectiveFields, source: mySource });

const levelHeld = accessLevel.nullable();

const decisionFields = {
  allowed: z.boolean().meta({ description: 'Whether the permission is held at the required level.' }),
  accessLevel: levelHeld.meta({
    description: 'The level held, even if it is lower than the required one; null: none. Decide by `allowed`.',
  }),
};

/** The answer to one check of a batch. */
export const CheckResult = record('CheckResult', { ...decisionFields, source });

/** The same for users themselves. */
export const MyCheckResult = record('MyCheckResult', { ...decisionFields, source: mySource });

/** 1 to 1,000 checks; `item` is what one of them holds. */
export function checksField<T extends z.ZodType>(item: T) {
  return z
    .array(item)
    .min(1)
    .max(LIMITS.batchChecks)
    .meta({ description: `1 to ${LIMITS.batchChecks} questions. A malformed one refuses all of them, and is named.` });
}

const ruleNumber = z.int().min(1).max(RULE_NAMES.length);

const Rule = record('RuleResult', {
  rule: ruleNumber,
  name: z.enum(RULE_NAMES),
  applies: z.boolean().meta({ description: 'Whether its condition holds, even if an earlier rule decides.' }),
  decides: z.boolean(),
  accessLevel: levelHeld.meta({ description: 'The level that this rule alone would give; null: none.' }),
  override: z
    .object({ granted: z.boolean(), accessLevel: levelHeld })
    .nullish()
    .meta({ description: 'For rule 4: the override for the record; null if none counts.' }),
  roles: z
    .array(z.object({ code: z.string(), accessLevel: levelHeld }))
    .optional()
    .meta({
      description:
        'For rule 5: every role that the user holds in the application, with the level of the permission that it grants.',
    }),
});

/** An answer, and the result of each of the six rules. */
export const Explanation = record('Explanation', {
  ...decisionFields,
  source,
  rule: ruleNumber.meta({ description: 'The rule that decides.' }),
  rules: z.array(Rule).meta({ description: 'The six rules in order. Exactly one decides.' }),
  known: z
    .object({ user: z.boolean(), application: z.boolean(), permission: z.boolean() })
    .meta({ description: 'Whether the address has a record, the application exists, and it defines the permission.' }),
});

export const EXPLANATION_EXAMPLE: z.output<typeof Explanation> = {
  allowed: false,
  accessLevel: null,
  source: 'override',
  rule: 4,
  rules: [
    { rule: 1, name: 'inactive', applies: false, decides: false, accessLevel: null },
    { rule: 2, name: 'superadmin', applies: false, decides: false, accessLevel: null },
    { rule: 3, name: 'app_admin', applies: false, decides: false, accessLevel: null },
    {
      rule: 4,
      name: 'override',
      applies: true,
      decides: true,
      accessLevel: null,
      override: { granted: false, accessLevel: null },
    },
    {
      rule: 5,
      name: 'roles',
      applies: true,
      decides: false,
      accessLevel: 'view',
      roles: [{ code: 'accountant', accessLevel: 'view' }],
    },
    { rule: 6, name: 'default', applies: true, decides: false, accessLevel: null },
  ],
  known: { user: false, application: true, permission: true },
};

/** The level or rule of a granted permission. */
export function heldOnly<T>(value: T | null): T {
  if (value === null) throw new Error('a held permission without a granting rule');
  return value;
}

function common(item: EffectiveItem): {
  code: string;
  type: 'binary' | 'tiered';
  groupName: string | null;
  global: boolean;
  accessLevel: LevelName;
  granted: boolean;
} {
  const { code, tiered, groupName, global, level, granted } = item;
  return { code, type: tiered ? 'tiered' : 'binary', groupName, global, accessLevel: LEVEL_NAMES[level], granted };
}

export function effectivePermission(item: EffectiveItem): z.output<typeof EffectivePermission> {
  return { ...common(item), source: SOURCE_NAMES[item.source] };
}

export function myEffectivePermission(item: EffectiveItem): z.output<typeof MyEffectivePermission> {
  return { ...common(item), source: mySourceName(item) };
}

function mySourceName({ granted, source }: { granted: boolean; source: Source }): NonNullable<SourceName> | 'none' {
  return (granted ? SOURCE_NAMES[source] : null) ?? 'none';
}

export function checkResult(decision: Decision, allowed: boolean): z.output<typeof CheckResult> {
  return { allowed, accessLevel: LEVEL_NAMES[decision.level], source: SOURCE_NAMES[decision.source] };
}

export function myCheckResult(decision: Decision, allowed: boolean): z.output<typeof MyCheckResult> {
  return { allowed, accessLevel: LEVEL_NAMES[decision.level], source: mySourceName(decision) };
}

export function explanation(answer: ExplainAnswer): z.output<typeof Explanation> {
  const { decision, allowed, rule, rules, override, roles, known } = answer;
  const more: Partial<Record<RuleName, Pick<z.output<typeof Rule>, 'override' | 'roles'>>> = {
    override: { override: override && { granted: override.granted, accessLevel: LEVEL_NAMES[override.level] } },
    roles: { roles: roles.map(({ code, level }) => ({ code, accessLevel: LEVEL_NAMES[level] })) },
  };
  return {
    ...checkResult(decision, allowed),
    rule,
    rules: RULE_NAMES.map((name, index) => {
      const { applies, decides, level } = certain(rules[index]);
      return { rule: index + 1, name, applies, decides, accessLevel: LEVEL_NAMES[level], ...more[name] };
    }),
    known,
  };
}
