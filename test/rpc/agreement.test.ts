import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { ExplainedAt } from '../../src/engine/explain.ts';
import { isAllowed } from '../../src/engine/question.ts';
import { type Decision, Level, type Question } from '../../src/engine/types.ts';
import { RPCS } from '../../src/rpc/methods.ts';
import { PROTO } from '../../src/rpc/naming.ts';
import { explanationOf, isAllowedByOracle, type OracleQuestion } from '../oracle/oracle.ts';
import { OracleSource } from '../oracle/source.ts';
import { asDecision } from '../oracle/storage.ts';
import { NAMES, pick, seeded } from '../oracle/world.ts';
import { numberOf } from '../support/revisions.ts';

/**
 * The same random questions to Check, BatchCheck and Explain while the world changes under them: each answer is the oracle's at
 * its revision, and answers at one revision are one decision.
 */
const QUESTIONS = process.env.USHER_LONG ? 1_000_000 : 12_000;
const IN_A_ROUND = 24;
const LEVELS = [
  [null, Level.NONE],
  ['view', Level.VIEW],
  ['edit', Level.EDIT],
] as const;
type Asked = (typeof LEVELS)[number];

const random = seeded(Number(process.env.USHER_SEED ?? 20_261_122));
const source = new OracleSource();
/** One that holds all that is asked about, and one with fewer applications than a batch names. */
const engines = [10, 1].map((policies) => {
  const cache = { megabytes: 64, ttlMs: 30_000, maxEntries: 60, policies, persons: 10, members: 10 };
  return new Engine({ source, clock: systemClock, cache, log: createLogger('silent') });
});

beforeAll(async () => {
  for (let i = 0; i < 80; i++) source.write(random);
  await Promise.all(engines.map((engine) => engine.start()));
});
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
});

function randomQuestion(): Question {
  const resource = random(3) === 0 ? { resourceType: '', resourceId: '' } : pick(random, NAMES.resources);
  const email = pick(random, NAMES.emails);
  const app = pick(random, [...NAMES.apps, 'no-such']);
  return { email, app, permission: pick(random, [...NAMES.permissions, 'no.such']), ...resource };
}

const fieldsOf = (question: Question, [, accessLevel]: Asked) => ({ ...question, accessLevel, minRevision: '' });
const call = { naming: PROTO };

/** What the oracle says of a question at the revision of its answer. */
function wanted(question: OracleQuestion, [name]: Asked, revision: string) {
  const rows = source.history.at(numberOf(revision));
  const explained = explanationOf(rows, question);
  return { explained, decision: asDecision(explained), allowed: isAllowedByOracle(rows, question, name) };
}

function expectDecision(
  decision: Decision,
  allowed: boolean,
  right: ReturnType<typeof wanted>,
  question: unknown,
): void {
  const { granted, level, source: by } = decision;
  const said = { granted, level, source: by };
  // `expect` only where it will fail: a million of them would take longer than all else.
  if (JSON.stringify([said, allowed]) === JSON.stringify([right.decision, right.allowed])) return;
  expect({ question, ...said, allowed }).toEqual({ question, ...right.decision, allowed: right.allowed });
}

function expectExplained(said: ExplainedAt, { explained }: ReturnType<typeof wanted>, question: unknown): void {
  const { rule, rules, override, roles, known } = said;
  const told = {
    question,
    rule,
    decide: rules.flatMap(({ decides }, index) => (decides ? [index + 1] : [])),
    applying: rules.flatMap(({ applies }, index) => (applies ? [index + 1] : [])),
    levels: rules.map(({ level }) => level),
    override,
    roles: roles.map(({ code, level }) => [code, level]),
    known,
  };
  const right = { question, ...explained.told };
  if (JSON.stringify(told) !== JSON.stringify(right)) expect(told).toEqual(right);
}

describe('Check, BatchCheck and Explain', () => {
  test('Check, BatchCheck and Explain agree with the oracle and with each other while writers run', async () => {
    let compared = 0;
    for (let asked = 0; asked < QUESTIONS; asked += IN_A_ROUND) {
      const engine = pick(random, engines);
      if (random(3) === 0) {
        source.write(random);
        if (random(2) === 0) await engine.reach({ number: source.history.head, nonce: null });
      }
      source.history.forget(source.history.head - 5000);
      const items = Array.from({ length: IN_A_ROUND }, () => [randomQuestion(), pick(random, LEVELS)] as const);
      const batch = RPCS.batchCheck.ask(
        engine,
        { checks: items.map(([question, level]) => fieldsOf(question, level)), minRevision: '' },
        call,
      );
      const single = items.slice(0, 4).map(async ([question, level]) => {
        const fields = fieldsOf(question, level);
        const [check, explained] = await Promise.all([
          RPCS.check.ask(engine, fields, call),
          RPCS.explain.ask(engine, { check: fields }, call),
        ]);
        expectDecision(check.decision, check.allowed, wanted(question, level, check.revision), question);
        const right = wanted(question, level, explained.revision);
        expectDecision(explained.decision, explained.allowed, right, question);
        expectExplained(explained, right, question);
        if (check.revision === explained.revision && check.decision.level === explained.decision.level) compared++;
      });
      const { decisions, levels, revision } = await batch;
      items.forEach(([question, level], index) => {
        const decision = decisions[index] as Decision;
        expectDecision(
          decision,
          isAllowed(decision, levels[index] as Level),
          wanted(question, level, revision),
          question,
        );
      });
      await Promise.all(single);
    }
    // That most were answered at one revision: otherwise nothing was compared.
    expect(compared).toBeGreaterThan(QUESTIONS / IN_A_ROUND);
  }, 3_600_000);
});
