import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Answered } from '../../panel/src/places/ask/playground/model.ts';
import { answerIn, readPlayground } from '../../panel/src/places/ask/playground/model.ts';
import { packed, unpacked } from '../../panel/src/places/ask/playground/share.ts';
import { NO_QUESTION, type Question } from '../../panel/src/places/ask/question.ts';
import { systemClock } from '../../src/base/clock.ts';
import { UsherError } from '../../src/base/errors.ts';
import { LEVEL_NAMES, SOURCE_NAMES } from '../../src/base/level-names.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { Engine } from '../../src/engine/engine.ts';
import { isAllowed, readQuestion } from '../../src/engine/question.ts';
import { Level } from '../../src/engine/types.ts';
import type { Rows } from '../oracle/rows.ts';
import { OracleSource } from '../oracle/source.ts';
import { scopesOf } from '../oracle/storage.ts';
import { NAMES, pick, type Random, randomOperation, seeded } from '../oracle/world.ts';

/** Questions about random manifests: the panel's playground against the engine. */
const QUESTIONS = process.env.USHER_LONG ? 100_000 : 10_000;
const MANIFESTS = QUESTIONS / 100;
const APP = 'billing';
const DEMO = readFileSync(join(import.meta.dirname, '../../examples/demo.yaml'), 'utf8');

const random = seeded(20_261_123);
const source = new OracleSource();
const engine = new Engine({
  source,
  clock: systemClock,
  cache: { megabytes: 64, ttlMs: 30_000, maxEntries: 60, policies: 10, persons: 10, members: 10 },
  log: createLogger('silent'),
});
beforeAll(async () => await engine.start());
afterAll(async () => await engine.close());

/** A write that a manifest can state: nobody is inactive or a SuperAdmin, and the application stays. */
function write(): void {
  const names = { ...NAMES, apps: [APP], strict: true };
  for (;;) {
    const operation = randomOperation(random, source.history.newest, names);
    if (['user', 'superadmin', 'delete-app'].includes(operation.kind)) continue;
    source.history.record(source.history.head + 1, operation);
    source.scopes.push(scopesOf(operation));
    return;
  }
}

/** The rows of the application as the text of a manifest. */
function manifestOf(rows: Rows): string {
  const people = [...new Set(rows.assignments.map(({ email }) => email))];
  return JSON.stringify({
    application: { code: APP, name: APP, strictCodes: rows.applications.some(({ strict }) => strict) },
    entities: rows.entities.map(({ entity }) => ({ code: entity, name: entity })),
    permissions: rows.permissions.map(({ permission, type, global }) => ({ code: permission, type, global })),
    roles: rows.roles.map(({ role }) => ({
      code: role,
      permissions: Object.fromEntries(
        rows.rolePermissions
          .filter((held) => held.role === role)
          .map(({ permission, accessLevel }) => [permission, accessLevel]),
      ),
    })),
    admins: rows.appAdmins.map(({ email }) => email),
    assignments: people.map((email) => ({
      email,
      roles: rows.assignments.filter((held) => held.email === email).map(({ role }) => role),
    })),
    overrides: rows.overrides.map(({ accessLevel, ...override }) => ({
      ...override,
      app: undefined,
      ...(accessLevel === null ? {} : { accessLevel }),
    })),
  });
}

function randomQuestion(from: Random): Question {
  const resource = from(3) === 0 ? { resourceType: '', resourceId: '' } : pick(from, NAMES.resources);
  return {
    app: APP,
    email: pick(from, [...NAMES.emails, 'Ada@Example.com', 'stranger@example.com', 'not an address']),
    permission: pick(from, [...NAMES.permissions, 'invoices.raed']),
    level: pick(from, ['', 'view', 'edit']),
    ...resource,
  };
}

/** What the engine answers, in the playground's words. */
async function byEngine(question: Question): Promise<unknown> {
  const read = readQuestion({ ...question });
  if (read === null) return { allowed: false, accessLevel: null, source: null };
  try {
    const minRevision = { number: source.history.head, nonce: null };
    const { decision } = await engine.check(read, { minRevision });
    const level = { '': Level.NONE, view: Level.VIEW, edit: Level.EDIT }[question.level] ?? Level.NONE;
    const explained = await engine.explain(read);
    const deciding = explained.rule;
    return {
      allowed: isAllowed(decision, level),
      accessLevel: LEVEL_NAMES[decision.level],
      source: SOURCE_NAMES[decision.source],
      rule: deciding,
      applies: explained.rules.map(({ applies }) => applies),
    };
  } catch (error) {
    if (!(error instanceof UsherError)) throw error;
    return error.message;
  }
}

function byPlayground(answered: Answered, malformed: boolean): unknown {
  if (answered.kind === 'refused') return answered.message;
  const { allowed, accessLevel, source: by, rule, rules } = answered.explained;
  const verdict = { allowed, accessLevel, source: by };
  return malformed ? verdict : { ...verdict, rule, applies: rules.map(({ applies }) => applies) };
}

describe('the playground', () => {
  test(`answers ${QUESTIONS} random questions about random manifests as the engine does`, async () => {
    const different: unknown[] = [];
    const seen = new Set<string>();
    for (let i = 0; i < 20; i++) write();
    for (let made = 0; made < MANIFESTS; made++) {
      for (let i = 0; i < 4; i++) write();
      const text = manifestOf(source.history.newest);
      const { world, issues } = readPlayground(text);
      // Overrides of global permissions are legal rows, which a manifest refuses. They decide nothing in either.
      expect(issues.filter(({ code }) => code !== 'GLOBAL_PERMISSION' && code !== 'UNKNOWN_RESOURCE_TYPE')).toEqual([]);
      if (world === null) throw new Error('a manifest without a world');
      for (let asked = 0; asked < QUESTIONS / MANIFESTS; asked++) {
        const question = randomQuestion(random);
        const [theirs, ours] = [
          await byEngine(question),
          byPlayground(answerIn(world, question), question.email === 'not an address'),
        ];
        seen.add(JSON.stringify(theirs));
        if (JSON.stringify(theirs) !== JSON.stringify(ours)) different.push({ text, question, theirs, ours });
      }
    }
    expect(different.slice(0, 1)).toEqual([]);
    // Every kind of answer came up.
    expect(seen.size).toBeGreaterThan(15);
  });

  test('reads the demonstration without faults, and its own cases pass', () => {
    const { issues, outcomes } = readPlayground(DEMO);
    expect(issues).toEqual([]);
    expect(outcomes.length).toBeGreaterThan(5);
    expect(outcomes.filter(({ passed }) => !passed)).toEqual([]);
  });

  test('places faults in the text: of the form, of references, and of cases', () => {
    const text = DEMO.replace('roles: [designer]', 'roles: [desinger]').replace('expect: view', 'expect: sometimes');
    const { issues } = readPlayground(text);
    const lines = text.split('\n');
    expect(issues.map(({ message, line }) => [message, lines[line - 1]?.trim()])).toEqual([
      ['desinger is not a role of atelier; did you mean designer?', 'roles: [desinger]'],
      [expect.stringContaining('sometimes'), 'expect: sometimes'],
    ]);
  });

  test('survives every prefix of a manifest', () => {
    for (let end = 0; end < DEMO.length; end += 41) {
      const reading = readPlayground(DEMO.slice(0, end));
      expect(reading.manifest !== null || reading.issues.length > 0).toBe(true);
    }
  });

  test('comes back from its link, and a damaged link is none', async () => {
    const shared = { text: `${DEMO}# ščř 🎭`, question: { ...NO_QUESTION, email: 'ada@example.com' } };
    const link = await packed(shared);
    expect(link.length).toBeLessThan(DEMO.length);
    expect(link).toMatch(/^#1\.[\w-]+$/);
    expect(await unpacked(link)).toEqual(shared);
    expect(await unpacked(link.slice(0, -20))).toBeNull();
    expect(await unpacked('#somewhere')).toBeNull();
    expect(await unpacked('#1.%%%')).toBeNull();
  });
});
