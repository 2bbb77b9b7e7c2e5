/** The playground: a manifest's text read and decided as the service would, without a service. */

import type { Question } from '../question.ts';
import { recordOf } from '../question.ts';
import type { Explained } from '../rules.ts';
import {
  checkStandalone,
  type Explanation,
  examine,
  Faults,
  isAllowed,
  isMap,
  LEVEL_NAMES,
  LEVELS,
  type LevelName,
  type Manifest,
  type ManifestIssue,
  type Outcome,
  type PolicyTest,
  placed,
  present,
  RULE_NAMES,
  readCases,
  readSource,
  runTests,
  SOURCE_NAMES,
  UsherError,
  World,
} from './service.ts';

/** What a text says. */
export interface Reading {
  /** Null when not even the application is known. */
  readonly manifest: Manifest | null;
  readonly world: World | null;
  /** Faults by line and column, those of the cases too. */
  readonly issues: readonly ManifestIssue[];
  /** Outcomes of the manifest's own `tests:`. */
  readonly outcomes: readonly Outcome[];
}

/** Reads a text. Never throws for its content. */
export function readPlayground(text: string): Reading {
  const { manifest, issues, places } = examine(text);
  if (manifest === null) return { manifest, world: null, issues, outcomes: [] };
  const faults = new Faults();
  checkStandalone(manifest, faults);
  const cases = casesIn(text, faults);
  const world = new World(manifest);
  const outcomes = runTests({ name: manifest.application.code, manifest, cases });
  return { manifest, world, issues: [...issues, ...placed(text, places, faults.list)], outcomes };
}

function casesIn(text: string, faults: Faults): PolicyTest[] {
  const { value } = readSource(text);
  return isMap(value) && value.tests !== undefined ? readCases(value.tests, faults) : [];
}

/** The answer to a question, in the form of the service's; or why the service would refuse it. */
export type Answered =
  | { readonly kind: 'answer'; readonly explained: Explained }
  | { readonly kind: 'refused'; readonly message: string };

/** The question is asked of the text's own application, whatever `app` says. */
export function answerIn(world: World, question: Question): Answered {
  const { email, permission, level } = question;
  const resource = recordOf(question);
  const asked = { email, permission, ...(resource === '' ? {} : { resource }) };
  try {
    const decision = world.decide(asked);
    const explanation = world.explain(asked);
    const wanted = level === 'view' || level === 'edit' ? LEVELS[level] : 0;
    return { kind: 'answer', explained: explainedOf(explanation, isAllowed(decision, wanted)) };
  } catch (error) {
    if (!(error instanceof UsherError)) throw error;
    return { kind: 'refused', message: error.message };
  }
}

function explainedOf({ decision, rule, rules, override, roles, known }: Explanation, allowed: boolean): Explained {
  return {
    allowed,
    accessLevel: LEVEL_NAMES[decision.level],
    source: SOURCE_NAMES[decision.source],
    rule,
    rules: RULE_NAMES.map((name, index) => {
      const { applies = false, decides = false, level = 0 } = rules[index] ?? {};
      return {
        rule: index + 1,
        name,
        applies,
        decides,
        accessLevel: LEVEL_NAMES[level],
        ...(name === 'override'
          ? {
              override:
                override === null ? null : { granted: override.granted, accessLevel: LEVEL_NAMES[override.level] },
            }
          : {}),
        ...(name === 'roles'
          ? { roles: roles.map((role) => ({ code: role.code, accessLevel: LEVEL_NAMES[role.level] })) }
          : {}),
      };
    }),
    known,
  };
}

/** Every decision about the people whom a manifest names, for one record or none. */
interface Decisions {
  readonly people: readonly string[];
  readonly permissions: readonly string[];
  /** Whether there are more people or permissions than are listed. */
  readonly truncated: boolean;
  levelOf(email: string, permission: string): LevelName;
}

const MAX_PEOPLE = 60;
const MAX_PERMISSIONS = 40;

export function decisionsIn({ manifest, world }: Reading, resource: string): Decisions {
  const people = manifest === null ? [] : peopleIn(manifest);
  const permissions = manifest === null ? [] : [...new Set(present(manifest.permissions).map(({ code }) => code))];
  return {
    people: people.slice(0, MAX_PEOPLE),
    permissions: permissions.slice(0, MAX_PERMISSIONS),
    truncated: people.length > MAX_PEOPLE || permissions.length > MAX_PERMISSIONS,
    levelOf: (email, permission) => {
      if (world === null) return null;
      try {
        return LEVEL_NAMES[world.decide({ email, permission, resource }).level];
      } catch (error) {
        // A strict application refuses a type that it does not define, for everybody.
        if (!(error instanceof UsherError)) throw error;
        return null;
      }
    },
  };
}

/** Everybody whom the manifest names, in its order. */
export function peopleIn(manifest: Manifest): string[] {
  return [
    ...new Set([
      ...present(manifest.assignments).map(({ email }) => email),
      ...present(manifest.overrides).map(({ email }) => email),
      ...present(manifest.admins).map(({ email }) => email),
    ]),
  ];
}

/** Records that the manifest's overrides name. */
export function recordsIn(manifest: Manifest): string[] {
  return [
    ...new Set(present(manifest.overrides).map(({ resourceType, resourceId }) => `${resourceType}:${resourceId}`)),
  ];
}
