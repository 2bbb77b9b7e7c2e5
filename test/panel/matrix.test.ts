import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { applications } from '../../panel/src/places/applications/en.ts';
import { levelsOfTsv, pasted, tsvOf } from '../../panel/src/places/applications/matrix/clipboard.ts';
import {
  conflictsOf,
  type Draft,
  discarded,
  drafted,
  EMPTY,
  rebased,
  settled,
  undone,
  withCells,
} from '../../panel/src/places/applications/matrix/draft.ts';
import { inSight, moved } from '../../panel/src/places/applications/matrix/movement.ts';
import { proposalOf, yamlOf } from '../../panel/src/places/applications/matrix/proposal.ts';
import { sentencesOf } from '../../panel/src/places/applications/matrix/sentences.ts';
import {
  fitted,
  type MatrixAnswer,
  narrowed,
  nextLevel,
  rowsOf,
  tableOf,
} from '../../panel/src/places/applications/matrix/table.ts';
import { en } from '../../panel/src/words/en.ts';

const AT = '2026-01-05T08:30:00.000Z';

function permission(id: number, code: string, more: Partial<MatrixAnswer['permissions'][number]> = {}) {
  const record = { id, code, description: null, type: 'tiered' as const, groupName: null, parentPermissionId: null };
  return { ...record, global: false, createdAt: AT, updatedAt: AT, ...more };
}

function role(id: number, code: string) {
  return { id, code, name: null, description: null, createdAt: AT, updatedAt: AT, holders: id };
}

const ANSWER: MatrixAnswer = {
  permissions: [
    permission(1, 'invoice.access', { groupName: 'Finance' }),
    permission(2, 'invoice.approve', { groupName: 'Finance', type: 'binary', parentPermissionId: 1 }),
    permission(3, 'project.access', { groupName: 'Projects' }),
    permission(4, 'alone'),
  ],
  roles: [role(10, 'director'), role(11, 'guest')],
  levels: [
    { roleId: 10, permissionId: 1, accessLevel: 'edit' },
    { roleId: 10, permissionId: 2, accessLevel: 'allowed' },
    { roleId: 11, permissionId: 1, accessLevel: 'view' },
  ],
};
const TABLE = tableOf(ANSWER);

function tableWith(...levels: MatrixAnswer['levels']) {
  return tableOf({ ...ANSWER, levels });
}

const set = (draft: Draft, roleId: number, permissionId: number, level: 'allowed' | 'view' | 'edit' | null): Draft =>
  withCells(draft, TABLE, [{ roleId, permissionId, level }]);

describe('levels of a cell', () => {
  test('follow each other until none comes again', () => {
    expect([nextLevel('tiered', null), nextLevel('tiered', 'view'), nextLevel('tiered', 'edit')]).toEqual([
      'view',
      'edit',
      null,
    ]);
    expect([nextLevel('binary', null), nextLevel('binary', 'allowed')]).toEqual(['allowed', null]);
  });

  test('are fitted to the type of the permission', () => {
    expect([fitted('binary', 'edit'), fitted('binary', null), fitted('tiered', 'allowed')]).toEqual([
      'allowed',
      null,
      'view',
    ]);
  });
});

describe('rows of the matrix', () => {
  test('stand below their group and their parent, those without a group last', () => {
    const rows = rowsOf(ANSWER.permissions).map((row) =>
      row.kind === 'group' ? `[${row.name}]` : `${'-'.repeat(row.depth)}${row.permission.code}`,
    );
    expect(rows).toEqual([
      '[Finance]',
      'invoice.access',
      '-invoice.approve',
      '[Projects]',
      'project.access',
      '[null]',
      'alone',
    ]);
  });

  test('are listed once each, whatever the parents are', () => {
    const chain = Array.from({ length: 10_000 }, (_, at) =>
      permission(at, `p${at}`, { parentPermissionId: at === 0 ? null : at - 1 }),
    );
    expect(rowsOf(chain)).toHaveLength(10_000);
  });

  test('can be narrowed both ways, to what is changed, and to where two roles differ', () => {
    const at = (roleId: number, id: number) => drafted(TABLE, new Map(), roleId, id);
    const all = { permissions: '', roles: '', compare: null, changed: false };
    const codes = (wanted: Partial<Parameters<typeof narrowed>[1]>, changes = new Map()) => {
      const left = narrowed(TABLE, { ...all, ...wanted }, at, changes.values());
      return [left.permissions.map(({ code }) => code), left.roles.map(({ code }) => code)];
    };
    expect(codes({ permissions: 'finance', roles: 'gu' })).toEqual([['invoice.access', 'invoice.approve'], ['guest']]);
    expect(codes({ roles: 'gu, dir' })[1]).toEqual(['director', 'guest']);
    expect(codes({ compare: ['guest', 'director'] })).toEqual([
      ['invoice.access', 'invoice.approve'],
      ['guest', 'director'],
    ]);
    const { changes } = set(EMPTY, 11, 3, 'view');
    expect(codes({ changed: true }, new Map(changes))).toEqual([['project.access'], ['guest']]);
  });
});

describe('a draft', () => {
  test('holds what differs, counts it once, and forgets what is as it was', () => {
    const one = set(set(EMPTY, 10, 1, 'view'), 10, 1, null);
    expect([...one.changes.values()]).toEqual([{ roleId: 10, permissionId: 1, from: 'edit', to: null }]);
    expect(set(one, 10, 1, 'edit').changes.size).toBe(0);
    expect(set(EMPTY, 10, 1, 'edit')).toBe(EMPTY);
  });

  test('goes back step by step, also over what was discarded', () => {
    const two = set(set(EMPTY, 10, 3, 'view'), 11, 3, 'edit');
    expect(undone(discarded(two)).changes).toEqual(two.changes);
    expect(undone(undone(two)).changes.size).toBe(0);
    expect(undone(EMPTY)).toBe(EMPTY);
  });

  test('undone as often as it was changed is what it was at first', () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    for (let run = 0; run < 100; run += 1) {
      let draft = EMPTY;
      for (let step = 0; step < 30; step += 1) {
        const level = ([null, 'view', 'edit', 'allowed'] as const)[random(4)] ?? null;
        draft = set(draft, 10 + random(2), 1 + random(4), level);
        for (const { from, to } of draft.changes.values()) expect(from).not.toBe(to);
      }
      for (let step = draft.steps.length; step > 0; step -= 1) draft = undone(draft);
      expect(draft.changes.size).toBe(0);
    }
  });

  test('leaves out roles and permissions that there are not', () => {
    expect(set(EMPTY, 99, 1, 'view')).toBe(EMPTY);
    expect(set(EMPTY, 10, 99, 'view')).toBe(EMPTY);
  });
});

describe('a draft on a newer state', () => {
  const draft = set(set(EMPTY, 10, 1, 'view'), 11, 1, 'edit');

  test('keeps its changes, and shows theirs beside them', () => {
    const newer = tableWith({ roleId: 11, permissionId: 1, accessLevel: 'view' });
    const now = rebased(draft, newer);
    expect(now.changes.size).toBe(2);
    expect(conflictsOf(now.changes, newer)).toEqual([
      { roleId: 10, permissionId: 1, from: 'edit', to: 'view', theirs: null },
    ]);
  });

  test('drops what has come true or has lost its role', () => {
    const newer = tableOf({
      ...ANSWER,
      roles: [role(10, 'director')],
      levels: [{ roleId: 10, permissionId: 1, accessLevel: 'view' }],
    });
    expect(rebased(draft, newer).changes.size).toBe(0);
    expect(rebased(draft, TABLE)).toBe(draft);
  });

  test('is settled for mine or for theirs', () => {
    const newer = tableWith({ roleId: 11, permissionId: 1, accessLevel: 'view' });
    const conflicts = conflictsOf(draft.changes, newer);
    const mine = settled(draft, conflicts, 'mine');
    expect([conflictsOf(mine.changes, newer), mine.changes.size]).toEqual([[], 2]);
    const theirs = settled(draft, conflicts, 'theirs');
    expect([...theirs.changes.keys()]).toEqual(['11:1']);
    expect(undone(theirs).changes).toEqual(draft.changes);
  });
});

describe('changes as sentences', () => {
  test('name role after role what it gets, changes and loses', () => {
    const draft = set(set(set(EMPTY, 11, 1, 'edit'), 11, 3, 'view'), 10, 2, null);
    expect(sentencesOf(draft.changes.values(), TABLE, applications.matrix, en.common.levels)).toEqual([
      { role: 'director', holders: 10, sentences: ['loses invoice.approve (allowed)'] },
      {
        role: 'guest',
        holders: 11,
        sentences: ['goes from view to edit on invoice.access', 'gets view on project.access'],
      },
    ]);
  });
});

describe('the clipboard', () => {
  const permissions = [null, ...ANSWER.permissions];

  test('writes a line a row, and reads what spreadsheets write', () => {
    const rows = [
      ['edit', null],
      ['allowed', 'view'],
    ] as const;
    expect(tsvOf(rows)).toBe('edit\t\nallowed\tview');
    expect(levelsOfTsv('edit\t\r\nA\tVIEW\r\n')).toEqual([
      ['edit', null],
      ['allowed', 'view'],
    ]);
    expect(levelsOfTsv('=1+1\t·')).toEqual([[undefined, null]]);
  });

  test('fills a range with one cell, and begins a larger copy at its corner', () => {
    const range = { rows: [1, 2], columns: [0, 1] } as const;
    expect(pasted('edit', range, permissions, ANSWER.roles)).toHaveLength(4);
    const larger = pasted(
      'edit\tview\nallowed\t\nview\tview',
      { rows: [1, 1], columns: [1, 1] },
      permissions,
      ANSWER.roles,
    );
    expect(larger).toEqual([
      { roleId: 11, permissionId: 1, level: 'edit' },
      { roleId: 11, permissionId: 2, level: 'allowed' },
      { roleId: 11, permissionId: 3, level: 'view' },
    ]);
  });

  test('goes over headings of groups', () => {
    const copied = pasted('edit\nview', { rows: [0, 0], columns: [0, 0] }, permissions, ANSWER.roles);
    expect(copied.map(({ permissionId, level }) => [permissionId, level])).toEqual([
      [1, 'edit'],
      [2, 'view'],
    ]);
  });
});

describe('keys of the grid', () => {
  // Rows: 0 headings, 1 group, 2 and 3 permissions, 4 group, 5 permission.
  const size = { rows: 6, columns: 4, page: 2, skips: (row: number) => row === 1 || row === 4 };
  const to = (row: number, column: number, key: string, control = false) => {
    const place = moved({ row, column }, { key, control }, size);
    return place === null ? null : [place.row, place.column];
  };

  test('move by one, over headings of groups, and stop at the edges', () => {
    expect([to(2, 1, 'ArrowDown'), to(3, 1, 'ArrowDown'), to(5, 1, 'ArrowDown')]).toEqual([
      [3, 1],
      [5, 1],
      [5, 1],
    ]);
    expect([to(2, 1, 'ArrowUp'), to(0, 1, 'ArrowUp'), to(2, 0, 'ArrowLeft'), to(2, 3, 'ArrowRight')]).toEqual([
      [0, 1],
      [0, 1],
      [2, 0],
      [2, 3],
    ]);
  });

  test('move to the ends of the row, the table and by pages', () => {
    expect([to(3, 2, 'Home'), to(3, 2, 'End'), to(5, 2, 'Home', true), to(2, 1, 'End', true)]).toEqual([
      [3, 1],
      [3, 3],
      [2, 1],
      [5, 3],
    ]);
    expect([to(2, 1, 'PageDown'), to(5, 1, 'PageUp')]).toEqual([
      [5, 1],
      [3, 1],
    ]);
    expect(to(2, 1, 'x')).toBeNull();
  });

  test('leave out of sight what is out of sight', () => {
    expect(inSight(0, 340, 34, 1_000, 6)).toEqual([0, 16]);
    expect(inSight(3_400, 340, 34, 1_000, 6)).toEqual([94, 116]);
    expect(inSight(0, 340, 34, 3, 6)).toEqual([0, 3]);
    expect(inSight(9_999, 340, 34, 3, 6)).toEqual([3, 3]);
  });
});

describe('a draft as a manifest', () => {
  test('lists the changed roles with all that they would grant, and the application as it is', async () => {
    const application = {
      code: 'shop',
      name: 'Shop: "the" one',
      description: '- not a list',
      supportedLanguages: ['en'],
      strictCodes: true,
      tellEndings: true,
    };
    const { changes } = set(EMPTY, 11, 3, 'edit');
    const text = await yamlOf(proposalOf(application, TABLE, changes));
    expect(parse(text)).toEqual({
      application,
      roles: [
        {
          code: 'guest',
          name: null,
          description: null,
          permissions: { 'invoice.access': 'view', 'project.access': 'edit' },
        },
      ],
    });
  });
});
