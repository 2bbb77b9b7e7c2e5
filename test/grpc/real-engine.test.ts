import { type Client, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { Engine } from '../../src/engine/engine.ts';
import { answerOf, effectiveOf, isAllowedByOracle } from '../oracle/oracle.ts';
import { OracleSource } from '../oracle/source.ts';
import { asDecision } from '../oracle/storage.ts';
import { NAMES, pick, seeded } from '../oracle/world.ts';
import { numberOf } from '../support/revisions.ts';
import { call, closeDoors, type Door, failureOf, openClient, openDoor } from './support.ts';

/**
 * The door over the engine itself, with the oracle's rows for a database: every answer is what the oracle says at the
 * answer's revision, while writes go on. (What the databases do to it is tested on them.)
 */
const CHECKS = process.env.USHER_LONG ? 100_000 : 2000;
const random = seeded(20_240_607);
const source = new OracleSource();
const engine = new Engine({
  source,
  clock: systemClock,
  cache: { megabytes: 64, ttlMs: 30_000, maxEntries: 60, policies: 10, persons: 10, members: 10 },
  log: createLogger('silent'),
});
let door: Door;
let client: Client;

beforeAll(async () => {
  for (let i = 0; i < 60; i++) source.write(random);
  await engine.start();
  door = await openDoor({ engine });
  client = openClient(door.port);
});

afterAll(async () => {
  await closeDoors();
  await engine.close();
});

const ASKED = [null, 'view', 'edit'] as const;
const LEVEL_NUMBER = { view: 2, edit: 3 } as const;

function subject() {
  const resource = random(3) === 0 ? { resourceType: '', resourceId: '' } : pick(random, NAMES.resources);
  return { email: pick(random, NAMES.emails), app: pick(random, [...NAMES.apps, 'no-such']), ...resource };
}

/** Half of the writes are waited for, the rest are found by polling. */
async function maybeWrite(): Promise<void> {
  if (random(10) > 0) return;
  source.write(random);
  if (random(2) === 0) await engine.reach({ number: source.history.head, nonce: null });
}

describe('answers during writes match the oracle at their revision', () => {
  test('Check matches the oracle during writes', async () => {
    for (let asked = 0; asked < CHECKS; asked += 20) {
      await maybeWrite();
      const fresh = engine.cursor;
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          const question = { ...subject(), permission: pick(random, [...NAMES.permissions, 'no.such']) };
          const level = pick(random, ASKED);
          const accessLevel = level === null ? 0 : LEVEL_NUMBER[level];
          const { message } = await call(client, 'Check', { ...question, accessLevel });
          const rows = source.history.at(numberOf(message.revision));
          const { level: held, source: by } = asDecision(answerOf(rows, question));
          const allowed = isAllowedByOracle(rows, question, level);
          expect({ question, level, ...message }).toMatchObject({ allowed, accessLevel: held, source: by });
          expect(numberOf(message.revision)).toBeGreaterThanOrEqual(fresh);
        }),
      );
    }
  });

  test('BulkCheck and Effective match the oracle at one revision each', async () => {
    for (let asked = 0; asked < CHECKS / 20; asked++) {
      await maybeWrite();
      const about = subject();
      const level = pick(random, ASKED);
      const permissions = [...NAMES.permissions, 'no.such', '__proto__'];
      const accessLevel = level === null ? 0 : LEVEL_NUMBER[level];
      const [bulk, effective] = await Promise.all([
        call(client, 'BulkCheck', { ...about, permissions, accessLevel }),
        call(client, 'Effective', about),
      ]);
      const then = source.history.at(numberOf(bulk.message.revision));
      for (const { permission, ...line } of bulk.message.results.slice(0, -1)) {
        const { level: held, source: by } = asDecision(answerOf(then, { ...about, permission }));
        const allowed = isAllowedByOracle(then, { ...about, permission }, level);
        expect({ about, permission, ...line }).toMatchObject({ allowed, accessLevel: held, source: by });
      }
      // No code of any application: denied to everybody, a SuperAdmin included.
      expect(bulk.message.results.at(-1)).toMatchObject({ permission: '__proto__', allowed: false, source: 0 });
      const items = effectiveOf(source.history.at(numberOf(effective.message.revision)), about).map((item) => {
        const { granted, level: accessLevelHeld, source: by } = asDecision(item);
        const { code, type, groupName, global } = item;
        return { code, type, groupName, global, granted, accessLevel: accessLevelHeld, source: by };
      });
      const got = effective.message.permissions.map(({ $typeName, type, groupName, ...item }) => {
        expect($typeName).toBe('usher.permission.v1.EffectivePermission');
        return { ...item, type: type === 2 ? 'tiered' : 'binary', groupName: groupName ?? null };
      });
      expect(got).toEqual(items);
    }
  });
});

test('a caller with its revision sees a write', async () => {
  for (let i = 0; i < 30; i++) {
    source.write(random);
    const minRevision = `${source.history.head}.n${source.history.head}`;
    const question = { ...subject(), permission: pick(random, NAMES.permissions) };
    const { message } = await call(client, 'Check', { ...question, minRevision });
    expect(numberOf(message.revision)).toBeGreaterThanOrEqual(numberOf(minRevision));
  }
});

test('a database outage is UNAVAILABLE for uncached questions, and recovers with the database', async () => {
  source.away = true;
  const cold = { email: 'new@example.com', app: 'billing', permission: 'invoices.read' };
  const error = await failureOf(call(client, 'Check', cold));
  expect(error.code).toBe(status.UNAVAILABLE);
  source.away = false;
  const { message } = await call(client, 'Check', cold);
  expect(message.allowed).toBe(false);
});
