import { describe, expect, test } from '@jest/globals';
import { Level, Source, type Subject } from '../../src/engine/types.ts';
import { DecisionLog, type DecisionLogOptions } from '../../src/rpc/decision-log.ts';

const PLAIN: DecisionLogOptions = {
  denied: false,
  privileged: false,
  sample: 0,
  emails: 'plain',
  resources: 'plain',
  hashKey: null,
};

/** Numbers from 0 to 1 that are the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function open(options: Partial<DecisionLogOptions>, { now = (): number => 0, random = seeded(7) } = {}) {
  const lines: string[] = [];
  const clock = { now, random };
  return { lines, log: new DecisionLog({ ...PLAIN, ...options }, clock, { push: (line) => lines.push(line) }) };
}

describe('which decisions are logged', () => {
  test.each([0, 0.01, 0.3, 0.9, 1])('a sample of %d takes that share, each decision by itself', (sample) => {
    const { log } = open({ sample });
    const taken = Array.from({ length: 200_000 }, () => log.wants(Source.ROLE, true));
    const share = (some: readonly boolean[]): number => some.filter(Boolean).length / Math.max(1, some.length);
    const near = (found: number, of: number): boolean =>
      Math.abs(found - sample) <= 4 * Math.sqrt((sample * (1 - sample)) / of);
    expect(near(share(taken), taken.length)).toBe(true);
    // What was taken says nothing of what comes next.
    const after = taken.slice(1).filter((_, index) => taken[index]);
    if (after.length > 0) expect(near(share(after), after.length)).toBe(true);
  });

  test('refusals and the rules of administrators are taken whatever the sample is', () => {
    const { log } = open({ denied: true, privileged: true });
    const cases: [Source, boolean, boolean][] = [
      [Source.NONE, false, true],
      [Source.SUPERADMIN, true, true],
      [Source.APP_ADMIN, true, true],
      [Source.ROLE, true, false],
      [Source.OVERRIDE, true, false],
    ];
    for (const [source, allowed, wanted] of cases)
      expect([source, log.wants(source, allowed)]).toEqual([source, wanted]);
  });
});

describe('what a line says', () => {
  const asked: Subject = { email: ' Ada@Example.com', app: 'a"\\\n\u2028', resourceType: 'book', resourceId: '"},{"' };
  const decision = { level: Level.VIEW, source: Source.ROLE } as never;

  test('it is JSON whatever callers write, and has the time as it is', () => {
    const times = [0, 999, 1000, 1_700_000_000_007, 1_700_000_000_999, 5];
    let now = 0;
    const { log, lines } = open({}, { now: () => now, random: seeded(1) });
    for (const time of times) {
      now = time;
      log.decided('Check', asked, { permission: 'p"', level: Level.EDIT, decision, allowed: false, revision: '7.ab' });
    }
    const read = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true);
    expect(read.map(({ time }) => time)).toEqual(times.map((time) => new Date(time).toISOString()));
    expect(read[0]).toEqual({
      level: 'info',
      time: '1970-01-01T00:00:00.000Z',
      msg: 'decision',
      method: 'Check',
      email: 'ada@example.com',
      app: asked.app,
      resourceType: 'book',
      resourceId: asked.resourceId,
      permission: 'p"',
      askedLevel: 'edit',
      allowed: false,
      accessLevel: 'view',
      source: 'role',
      revision: '7.ab',
    });
  });

  test('what is omitted or was not asked is no field', () => {
    const { log, lines } = open({
      sample: 1,
      emails: 'omitted',
      resources: 'hashed',
      hashKey: 'a-key-of-24-letters-or-more',
    });
    log.listed('Effective', { ...asked, resourceType: '', resourceId: '' }, [], '8.ab');
    expect(JSON.parse(lines[0] as string)).toEqual({
      level: 'info',
      time: '1970-01-01T00:00:00.000Z',
      msg: 'decision',
      method: 'Effective',
      app: asked.app,
      permissions: 0,
      granted: 0,
      source: null,
      revision: '8.ab',
    });
  });
});
