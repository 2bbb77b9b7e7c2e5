import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { MAX_CURSOR } from '../../src/engine/cursors.ts';
import { Lists } from '../../src/engine/lists.ts';
import {
  ANY_REVISION,
  Level,
  type ListSource,
  MAX_LOG_ROWS,
  type Named,
  type RevisionToken,
  type Snapshot,
  Source,
  type SubjectRow,
} from '../../src/engine/types.ts';
import { UnknownCodes } from '../../src/engine/unknown-codes.ts';

/** What the lists make of what storage finds: told by a source that finds whatever a test says. */

const ADA = 'ada@example.com';
const WHO = { app: 'shop', permission: 'pages', resourceType: 'page', resourceId: '7', level: Level.NONE };
const WHAT = { email: ADA, app: 'shop', permission: 'pages', resourceType: 'page', level: Level.NONE };
const FIRST = { limit: 10, cursor: '', cursorPath: 'cursor' };

interface Told {
  snapshot: Snapshot;
  named: Named;
  rows: SubjectRow[];
  until: number | null;
  /** Candidates that a page looks at beyond those asked for; then `until` is told by them. */
  spare?: number;
  person: { active: boolean; superadmin: boolean };
  admin: boolean;
  roleIds: number[];
  boundary?: number | null;
  changed: boolean;
  /** The level of each identifier's override. */
  overrides: Record<string, Level>;
}

function fixture(told: Partial<Told> = {}) {
  const world: Told = {
    snapshot: { head: { number: 5, nonce: 'n5' }, nonces: [] },
    named: { appId: 1, permission: { id: 9, tiered: true, global: false }, levels: [[1, Level.VIEW]], policy: null },
    rows: [],
    until: null,
    person: { active: true, superadmin: false },
    admin: false,
    roleIds: [],
    changed: false,
    overrides: {},
    ...told,
  };
  const nonce = (number: number) => (number === 0 ? null : `n${number}`);
  const snapshot = (revisions: readonly number[]) => {
    const nonces = world.snapshot.nonces.length > 0 ? world.snapshot.nonces : revisions.map(nonce);
    return { ...world.snapshot, nonces };
  };
  const source: ListSource = {
    subjects: (_, { limit, after, revisions }) => {
      const { spare } = world;
      const looked = world.rows.filter(({ id }) => id > after).slice(0, limit + (spare ?? 0));
      const last = looked.length === limit + (spare ?? 0) ? (looked.at(-1)?.id ?? null) : null;
      const until = spare === undefined ? world.until : last;
      return Promise.resolve({ ...snapshot(revisions), ...world.named, rows: looked.slice(0, limit), until });
    },
    resources: async (_, { limit, place, revisions }, listed) => {
      const { changed, admin, roleIds, overrides, named } = world;
      const facts = {
        ...snapshot(revisions),
        ...named,
        person: { email: ADA, ...world.person },
        member: { admin, roleIds },
        boundary: world.boundary ?? null,
        changed,
      };
      const levels = listed(facts);
      const ids = Object.keys(overrides)
        .filter(
          (id) =>
            levels.includes(overrides[id] as Level) && Buffer.compare(Buffer.from(id), Buffer.from(place.from)) >= 0,
        )
        .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      return { ...facts, resourceIds: ids.slice(place.skip, place.skip + limit) };
    },
  };
  const reached: RevisionToken[] = [];
  const engine = { isReached: () => false, reach: async (mark: RevisionToken) => void reached.push(mark) };
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined };
  const unknownCodes = new UnknownCodes(systemClock, log);
  const lists = new Lists({ source, clock: systemClock, unknownCodes, engine, cursorKey: undefined });
  return { lists, world, reached };
}

function row(id: number, more: Partial<Omit<SubjectRow, 'id' | 'person'>> & { active?: boolean } = {}): SubjectRow {
  const { active = true, member = { admin: false, roleIds: [1] }, override = null } = more;
  return { id, person: { email: `p${id}@example.com`, active, superadmin: false }, member, override };
}

describe('who can', () => {
  test('the list of people contains only candidates that the rules allow', async () => {
    const member = { admin: false, roleIds: [] };
    const { lists } = fixture({
      rows: [
        row(1),
        row(2, { active: false }),
        row(3, { override: Level.NONE }),
        row(4, { member }),
        row(5, { member, override: Level.EDIT }),
        row(6, { member: { admin: true, roleIds: [] }, override: Level.NONE }),
      ],
    });
    const { subjects } = await lists.subjects(WHO, FIRST);
    expect(subjects.map(({ email, decision }) => [email, decision.level, decision.source])).toEqual([
      ['p1@example.com', Level.VIEW, Source.ROLE],
      ['p5@example.com', Level.EDIT, Source.OVERRIDE],
      ['p6@example.com', Level.EDIT, Source.APP_ADMIN],
    ]);
    const edit = await lists.subjects({ ...WHO, level: Level.EDIT }, FIRST);
    expect(edit.subjects.map(({ email }) => email)).toEqual(['p5@example.com', 'p6@example.com']);
  });

  test('the list of people continues after the last one listed, or after the last candidate of a short page', async () => {
    const { lists, world } = fixture({ rows: [1, 2, 3, 4, 5].map((id) => row(id)) });
    const one = await lists.subjects(WHO, { ...FIRST, limit: 2 });
    const two = await lists.subjects(WHO, { ...FIRST, limit: 2, cursor: one.next });
    expect(two.subjects.map(({ email }) => email)).toEqual(['p3@example.com', 'p4@example.com']);
    const three = await lists.subjects(WHO, { ...FIRST, limit: 2, cursor: two.next });
    expect([three.subjects.length, three.next]).toEqual([1, '']);
    world.rows = [row(500)];
    world.until = 499;
    const short = await lists.subjects(WHO, FIRST);
    world.rows.push(row(499));
    const rest = await lists.subjects(WHO, { ...FIRST, cursor: short.next });
    expect(rest.subjects.map(({ email }) => email)).toEqual(['p500@example.com']);
  });

  test.each([0, 2, 500])(
    'lists everybody once whichever candidates the rules deny, %i looked at in reserve',
    async (spare) => {
      const ids = [1, 2, 3, 4, 5, 6];
      for (let denied = 0; denied < 2 ** ids.length; denied++) {
        const isDenied = (id: number) => (denied & (1 << (id - 1))) !== 0;
        const { lists } = fixture({ rows: ids.map((id) => row(id, { active: !isDenied(id) })), spare });
        const allowed = ids.filter((id) => !isDenied(id)).map((id) => `p${id}@example.com`);
        for (const limit of [...ids, 7])
          expect({ denied, limit, listed: await walk(lists, limit) }).toEqual({ denied, limit, listed: allowed });
      }
    },
  );

  async function walk(lists: Lists, limit: number): Promise<string[]> {
    const listed: string[] = [];
    for (let cursor: string | undefined; cursor !== ''; ) {
      const page = await lists.subjects(WHO, { ...FIRST, limit, cursor: cursor ?? '' });
      expect(page.subjects.length).toBeLessThanOrEqual(limit);
      listed.push(...page.subjects.map(({ email }) => email));
      cursor = page.next;
    }
    return listed;
  }
});

describe('what somebody can reach', () => {
  const overrides = { a: Level.NONE, b: Level.VIEW, c: Level.EDIT };
  const reader = { roleIds: [1], overrides };

  test.each([
    ['a reader for any level', reader, Level.NONE, true, ['a']],
    ['a reader who needs to edit', reader, Level.EDIT, false, ['c']],
    ['an editor who needs to edit', { ...reader, named: namedBy(Level.EDIT) }, Level.EDIT, true, ['a', 'b']],
    ['a stranger', { overrides }, Level.NONE, false, ['b', 'c']],
    ['an administrator', { overrides, admin: true }, Level.EDIT, true, []],
    ['somebody inactive', { ...reader, person: { active: false, superadmin: true } }, Level.NONE, false, []],
    ['a SuperAdmin', { overrides, person: { active: true, superadmin: true } }, Level.EDIT, true, []],
    ['a reader of a global permission', { ...reader, named: namedBy(Level.VIEW, true) }, Level.NONE, true, []],
  ] as const)('the list of resources follows the rules: %s', async (_, told, level, allExcept, resourceIds) => {
    const { lists } = fixture(told as Partial<Told>);
    expect(await lists.resources({ ...WHAT, level }, FIRST)).toMatchObject({ allExcept, resourceIds, next: '' });
  });

  function namedBy(level: Level, global = false): Named {
    return { appId: 1, permission: { id: 9, tiered: true, global }, levels: [[1, level]], policy: null };
  }

  test('the pages list each identifier once, however long and similar, with cursors within the limit', async () => {
    const long = ['ž'.repeat(254), '\u{1f600}'.repeat(255), '"'.repeat(255), 'a'.repeat(237), 'a'.repeat(255)];
    const ids = long.flatMap((text) => [text, `${text}a`, `${text}ž`, text.slice(0, 100), `${text.slice(0, 118)}a`]);
    const overrides = Object.fromEntries(ids.map((id) => [id, Level.VIEW]));
    for (const limit of [1, 2, 3, 7]) {
      const { lists } = fixture({ overrides });
      const listed: string[] = [];
      let cursor = '';
      do {
        const page = await lists.resources(WHAT, { ...FIRST, limit, cursor });
        listed.push(...page.resourceIds);
        cursor = page.next;
        expect(cursor.length).toBeLessThanOrEqual(MAX_CURSOR);
      } while (cursor !== '' && listed.length <= ids.length);
      const unique = [...new Set(ids)].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(listed).toEqual(unique);
    }
  });

  test.each([
    [2000, 3000],
    [2000, null],
    [null, 2000],
  ])(
    'a cursor is LIST_CHANGED where the next of the grants begins or ends at %p and then at %p',
    async (first, then) => {
      const overrides = { a: Level.VIEW, b: Level.VIEW, c: Level.VIEW };
      const { lists, world } = fixture({ overrides, boundary: first });
      const page = await lists.resources(WHAT, { ...FIRST, limit: 1 });
      const again = () => lists.resources(WHAT, { ...FIRST, limit: 1, cursor: page.next });
      expect((await again()).resourceIds).toEqual(['b']);
      world.boundary = then;
      await expect(again()).rejects.toMatchObject({ reason: 'LIST_CHANGED' });
    },
  );

  test('a cursor is LIST_CHANGED after a relevant change, a pruned log or too many changes', async () => {
    const { lists, world } = fixture({ overrides: { a: Level.VIEW, b: Level.VIEW } });
    const { next: cursor } = await lists.resources(WHAT, { ...FIRST, limit: 1 });
    const again = () => lists.resources(WHAT, { ...FIRST, cursor });
    world.snapshot = { head: { number: 5 + MAX_LOG_ROWS, nonce: 'x' }, nonces: [] };
    expect((await again()).resourceIds).toEqual(['b']);
    world.snapshot = { head: { number: 6 + MAX_LOG_ROWS, nonce: 'x' }, nonces: [] };
    await expect(again()).rejects.toMatchObject({ reason: 'LIST_CHANGED', httpStatus: 409, grpcStatus: 10 });
    world.snapshot = { head: { number: 6, nonce: 'n6' }, nonces: [null, null] };
    await expect(again()).rejects.toMatchObject({ reason: 'LIST_CHANGED' });
    world.snapshot = { head: { number: 6, nonce: 'n6' }, nonces: [] };
    world.changed = true;
    await expect(again()).rejects.toMatchObject({ reason: 'LIST_CHANGED' });
  });
});

describe('the snapshot of a list', () => {
  test('a list waits for its snapshot, and is refused when a failover lost the requested revision', async () => {
    const { lists, world, reached } = fixture();
    const options = { minRevision: { number: 5, nonce: 'n5' } };
    expect((await lists.subjects(WHO, FIRST, options)).revision).toBe('5.n5');
    expect(reached).toEqual([options.minRevision]);
    world.snapshot = { head: { number: 4, nonce: 'n4' }, nonces: [null, null] };
    await expect(lists.subjects(WHO, FIRST, options)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    world.snapshot = { head: { number: 6, nonce: 'n6' }, nonces: ['other', null] };
    await expect(lists.resources(WHAT, FIRST, options)).rejects.toMatchObject({ reason: 'UNKNOWN_REVISION' });
    expect((await lists.subjects(WHO, FIRST, { minRevision: ANY_REVISION })).revision).toBe('6.n6');
  });

  test('a list whose snapshot cannot be read is an error, never empty', async () => {
    const { clock, unknownCodes, engine } = {
      clock: systemClock,
      unknownCodes: {} as never,
      engine: { isReached: () => true, reach: async () => undefined },
    };
    const none = new Lists({ source: undefined, clock, unknownCodes, engine, cursorKey: undefined });
    await expect(none.subjects(WHO, FIRST)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const broken = {
      subjects: () => Promise.reject(new Error('broken')),
      resources: () => Promise.reject(new Error('broken')),
    };
    const lists = new Lists({ source: broken, clock, unknownCodes, engine, cursorKey: undefined });
    await expect(lists.subjects(WHO, FIRST)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(lists.resources(WHAT, FIRST)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
