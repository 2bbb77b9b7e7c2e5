/** Runs policy tests, and reports the parts of a manifest that no case covers (docs/reference/command-line.md#policy-tests). */

import { UsherError } from '../base/errors.ts';
import { LEVEL_NAMES, LEVELS, type LevelName, RULE_NAMES, SOURCE_NAMES, type SourceName } from '../base/level-names.ts';
import { present } from '../catalog/manifest/format.ts';
import { isAllowed } from '../engine/question.ts';
import { type Decision, Level } from '../engine/types.ts';
import type { PolicyTest, TestFile } from './cases.ts';
import { World } from './world.ts';

/** What a service, or the evaluator, answers to a case. */
export interface Verdict {
  readonly allowed: boolean;
  readonly accessLevel: LevelName;
  readonly source: SourceName;
}

export interface Outcome {
  readonly file: string;
  readonly name: string;
  readonly test: PolicyTest;
  readonly passed: boolean;
  /** For a failure: the expected and the actual answer. */
  readonly message: string | null;
  /** For a failure: the result of each rule. */
  readonly explanation: readonly string[];
}

/** The parts of a manifest that no case of a file covers. */
export interface Coverage {
  readonly file: string;
  readonly permissions: readonly string[];
  readonly roles: readonly string[];
  /** As EMAIL PERMISSION TYPE:ID. */
  readonly overrides: readonly string[];
}

/** Runs the cases of a file against its manifest. */
export function runTests(file: TestFile): Outcome[] {
  const world = new World(file.manifest);
  return file.cases.map((test, index) => {
    try {
      const verdict = verdictOf(world.decide(test), test);
      return outcomeOf(file.name, index, test, verdict, () => explanationOf(world, test));
    } catch (error) {
      if (!(error instanceof UsherError)) throw error;
      return {
        file: file.name,
        name: nameOf(test, index),
        test,
        passed: false,
        message: error.message,
        explanation: [],
      };
    }
  });
}

/** Compares an answer with the expectation of the case. `explain` is called only for a failure. */
export function outcomeOf(
  file: string,
  index: number,
  test: PolicyTest,
  verdict: Verdict,
  explain: () => readonly string[],
): Outcome {
  const message = failureOf(test, verdict);
  const passed = message === null;
  return { file, name: nameOf(test, index), test, passed, message, explanation: passed ? [] : explain() };
}

function failureOf({ expect, level, via }: PolicyTest, { allowed, accessLevel, source }: Verdict): string | null {
  const wanted = level === undefined ? expect : `${expect} at level ${level}`;
  const got = `${allowed ? 'allowed' : 'denied'} (level ${accessLevel ?? 'none'}, by ${source ?? 'no rule'})`;
  const fits = expect === 'allowed' ? allowed : expect === 'denied' ? !allowed : accessLevel === expect;
  if (!fits) return `expected ${wanted}, got ${got}`;
  if (via !== undefined && via !== (source ?? 'none')) return `expected ${wanted} via ${via}, got ${got}`;
  return null;
}

function verdictOf(decision: Decision, { level }: PolicyTest): Verdict {
  const asked = level === undefined ? Level.NONE : LEVELS[level];
  const { level: held, source } = decision;
  return { allowed: isAllowed(decision, asked), accessLevel: LEVEL_NAMES[held], source: SOURCE_NAMES[source] };
}

/** The name of a case; by default its question. */
export function nameOf({ name, email, permission, resource, level, expect }: PolicyTest, index: number): string {
  const parts = [email, permission, resource, level, expect].filter((part) => part !== undefined);
  return name ?? `${index + 1}: ${parts.join(' ')}`;
}

function explanationOf(world: World, test: PolicyTest): string[] {
  const { rules, roles, override, known } = world.explain(test);
  const lines = rules.map(({ applies, decides, level }, index) => {
    const gives = LEVEL_NAMES[level] ?? 'nothing';
    return `${decides ? '→' : ' '} rule ${index + 1} ${RULE_NAMES[index]}: ${applies ? `applies, gives ${gives}` : 'does not apply'}`;
  });
  const held = roles.map(({ code, level }) => `${code} (${LEVEL_NAMES[level] ?? 'nothing'})`).join(', ');
  if (held !== '') lines.push(`  roles: ${held}`);
  if (override !== null)
    lines.push(`  override: ${override.granted ? `grants ${LEVEL_NAMES[override.level]}` : 'denies'}`);
  if (!known.permission) lines.push(`  the manifest defines no permission ${test.permission}`);
  if (!known.user) lines.push(`  the manifest does not name ${test.email}`);
  return lines;
}

/** The permissions, roles and overrides that no case covers. */
export function coverageOf({ name, manifest, cases }: TestFile): Coverage {
  const world = new World(manifest);
  const permissions = new Set(cases.map(({ permission }) => permission));
  const roles = new Set(cases.flatMap((test) => world.rolesGiving(test)));
  const asked = new Set(
    cases.map(({ email, permission, resource }) => overrideName(email, permission, resource ?? '')),
  );
  const codes = (section: readonly ({ code: string } | null)[] | null) => present(section).map(({ code }) => code);
  const overrides = present(manifest.overrides).map(({ email, permission, resourceType, resourceId }) =>
    overrideName(email, permission, `${resourceType}:${resourceId}`),
  );
  return {
    file: name,
    permissions: codes(manifest.permissions).filter((code) => !permissions.has(code)),
    roles: codes(manifest.roles).filter((code) => !roles.has(code)),
    overrides: overrides.filter((override) => !asked.has(override)),
  };
}

function overrideName(email: string, permission: string, resource: string): string {
  return `${email.trim().toLowerCase()} ${permission} ${resource}`;
}
