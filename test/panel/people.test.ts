import { describe, expect, test } from '@jest/globals';
import { isOpen, levelOf, narrowed, tableOf } from '../../panel/src/places/people/access.ts';
import { askPath, emailOfPath, personPath } from '../../panel/src/places/people/address.ts';
import { filtersOf, LIST_FILTERS, queryOf, VIEWS, viewOf } from '../../panel/src/places/people/list-query.ts';
import { refusedAccounts } from '../../panel/src/places/people/refused-accounts.ts';
import {
  ending,
  isHeld,
  type RoleDraft,
  rolesAfter,
  rolesToWrite,
  turned,
  without,
} from '../../panel/src/places/people/role-draft.ts';
import { inMargin } from '../../panel/src/places/people/timeline.ts';
import { differencesOf } from '../../src/base/audit-differences.ts';

describe('the address of a person', () => {
  test.each(['ada@example.com', "o'neil+x@example.com", '100%25@example.com', 'a/b@example.com', 'é&?#@example.com'])(
    'leads back to %s',
    (email) => {
      expect(emailOfPath(`/panel${personPath(email)}`)).toBe(email);
      expect(emailOfPath(`/panel${personPath(email, 'messages')}`)).toBe(email);
    },
  );

  test('is none on the list, and what was typed where it cannot be decoded', () => {
    expect(emailOfPath('/panel/people')).toBeNull();
    expect(emailOfPath('/panel/people/100%@example.com')).toBe('100%@example.com');
  });

  test('of a question names its record only when it has one', () => {
    const question = { app: 'shop', email: 'ada@example.com', permission: 'pages.edit' };
    expect(askPath(question)).toBe('/ask?app=shop&email=ada%40example.com&permission=pages.edit');
    expect(askPath({ ...question, resourceType: 'page', resourceId: '7' })).toContain(
      '&resourceType=page&resourceId=7',
    );
    expect(askPath({ ...question, resourceType: 'page', resourceId: '' })).not.toContain('resource');
  });
});

describe('accounts that were refused with an address', () => {
  const record = (action: string, after: unknown, at = '2026-01-01T00:00:00Z') => ({
    id: 1,
    at,
    actor: 'user:ada@example.com',
    action,
    appCode: null,
    subject: 'ada@example.com',
    before: null,
    after,
    requestId: null,
    reason: null,
  });
  const account = (subject: string, more = {}) => ({ issuer: 'https://idp.example.com', subject, ...more });

  test('are each named once, the newest first, with their organization', () => {
    const found = refusedAccounts([
      record('user.subject_bound.refused', account('b', { organization: '17' }), '2026-01-03T00:00:00Z'),
      record('user.subject_changed.refused', account('a'), '2026-01-02T00:00:00Z'),
      record('user.subject_bound.refused', account('b', { organization: '17' })),
    ]);
    expect(found.map(({ subject, organization, at }) => [subject, organization, at.slice(0, 10)])).toEqual([
      ['b', '17', '2026-01-03'],
      ['a', null, '2026-01-02'],
    ]);
  });

  test('are no others: an account that was named or forgotten, or what cannot be read', () => {
    const others = ['user.subject_named', 'user.subject_named.refused', 'user.subject_changed', 'user.subject_cleared'];
    expect(refusedAccounts(others.map((action) => record(action, account('a'))))).toEqual([]);
    for (const after of [null, 'a', { subject: 'a' }, { issuer: 7, subject: 'a' }]) {
      expect(refusedAccounts([record('user.subject_bound.refused', after)])).toEqual([]);
    }
  });
});

describe('filters of the list of people', () => {
  test.each(VIEWS)('the view "%s" is told by its own filters', (view) => {
    expect(viewOf(filtersOf(view))).toBe(view);
  });

  test('leave out what the service would refuse', () => {
    const query = queryOf({
      ...LIST_FILTERS,
      active: 'maybe',
      orphan: 'false',
      ending: '366',
      role: 'author',
      sort: 'age',
      q: 'x'.repeat(80),
    });
    expect(query).toEqual({
      q: 'x'.repeat(64),
      active: null,
      orphan: null,
      endingWithinDays: null,
      appCode: '',
      role: null,
      permission: null,
      sort: null,
    });
    expect(
      ['0', '7', '365', 'soon'].map((ending) => queryOf({ ...LIST_FILTERS, app: 'shop', ending }).endingWithinDays),
    ).toEqual([null, 7, 365, null]);
    expect(queryOf({ ...LIST_FILTERS, app: 'shop', role: 'author' })).toMatchObject({
      appCode: 'shop',
      role: 'author',
    });
  });
});

const ALWAYS = { startsAt: null, endsAt: null };
const SHOP = {
  code: 'shop',
  name: 'Shop',
  level: 'app_admin' as const,
  roles: ['author', '=cmd()'],
  roleWindows: [],
  permissions: [{ code: 'pages.edit', accessLevel: 'edit' as const, source: 'role' as const }],
  overrides: [
    { resourceType: 'page', resourceId: '42', permission: 'pages.edit', granted: false, accessLevel: null, ...ALWAYS },
    {
      resourceType: 'page',
      resourceId: '43',
      permission: 'pages.read',
      granted: true,
      accessLevel: 'view' as const,
      ...ALWAYS,
    },
  ],
  moreOverrides: 0,
  lastLoginAt: null,
};

describe('the access of a person', () => {
  test('is narrowed to what holds the text, and whole where the application does', () => {
    expect(narrowed([SHOP], '')).toEqual([SHOP]);
    expect(narrowed([SHOP], 'SHOP')).toEqual([SHOP]);
    const [found] = narrowed([SHOP], 'page:43');
    expect([found?.roles, found?.permissions, found?.overrides.length]).toEqual([[], [], 1]);
    expect(narrowed([SHOP], 'nothing')).toEqual([]);
  });

  test('has a row for each thing in a table', () => {
    const rows = tableOf([SHOP], ['header']);
    expect(rows).toHaveLength(7);
    expect(rows.at(-2)).toEqual(['shop', 'override', 'pages.edit', 'denied', 'override', 'page:42']);
  });

  test('shows a denial as denied, and a grant by its level', () => {
    expect(SHOP.overrides.map(levelOf)).toEqual(['denied', 'view']);
    expect(levelOf({ granted: true, accessLevel: null })).toBe('allowed');
  });

  test('is open where there are few applications, else where it is asked for', () => {
    expect(isOpen('shop', { asked: '', count: 3, searching: false })).toBe(true);
    expect(isOpen('shop', { asked: '', count: 500, searching: false })).toBe(false);
    expect(isOpen('shop', { asked: 'shop', count: 500, searching: false })).toBe(true);
    expect(isOpen('shop', { asked: '', count: 500, searching: true })).toBe(true);
  });
});

describe('the draft of roles', () => {
  const held = ['author', 'reader'];
  const empty: RoleDraft = new Map();

  test('names what is given and taken, by application', () => {
    let draft = turned(empty, 'shop', 'editor', held);
    draft = turned(draft, 'shop', 'reader', held);
    draft = turned(draft, 'crm', 'sales', []);
    expect([...draft]).toEqual([
      ['shop', { add: ['editor'], remove: ['reader'] }],
      ['crm', { add: ['sales'], remove: [] }],
    ]);
    expect(['editor', 'reader', 'author'].map((role) => isHeld(draft, 'shop', role, held))).toEqual([
      true,
      false,
      true,
    ]);
    expect([...without(draft, ['shop']).keys()]).toEqual(['crm']);
  });

  test('is empty again when everything is turned back', () => {
    let draft = empty;
    for (const role of ['editor', 'reader', 'reader', 'editor']) draft = turned(draft, 'shop', role, held);
    expect(draft.size).toBe(0);
  });

  test('keeps a role that somebody else gave meanwhile', () => {
    expect(rolesAfter(['author', 'reader', 'new'], { add: ['editor'], remove: ['reader'] })).toEqual([
      'author',
      'editor',
      'new',
    ]);
  });
});

describe('what happened to a person', () => {
  test('long texts and many members are cut', () => {
    const after = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`member${n}`, '😀'.repeat(500)]));
    const found = inMargin(differencesOf({ before: null, after }));
    expect(found).toHaveLength(4);
    expect(found[0]).toEqual({ name: 'member0', before: null, after: `${'😀'.repeat(60)}…` });
  });

  test('an override is one thing, as in Activity', () => {
    const before = { permission: 'p.a', resourceType: 'project', resourceId: '7', granted: false, accessLevel: null };
    expect(inMargin(differencesOf({ before, after: null }))).toEqual([
      { name: 'p.a · project:7', before: 'denied', after: null },
    ]);
  });
});

describe('an end in the draft of roles', () => {
  const END = '2026-12-04T17:00:00.000Z';
  const LATER = '2027-01-01T00:00:00.000Z';

  test('goes with the role that is given', () => {
    const added = turned(new Map(), 'shop', 'clerk', ['owner']);
    const draft = ending(added, 'shop', { role: 'clerk', endsAt: END, held: null });
    expect(draft.get('shop')).toEqual({ add: ['clerk'], remove: [], ends: { clerk: END } });
    expect(rolesToWrite(['owner'], draft.get('shop') ?? { add: [], remove: [] })).toEqual([
      { role: 'clerk', endsAt: END },
      'owner',
    ]);
    expect(turned(draft, 'shop', 'clerk', ['owner'])).toEqual(new Map());
  });

  test('of a role that is held is a change by itself, until it is what it was', () => {
    const draft = ending(new Map(), 'shop', { role: 'owner', endsAt: LATER, held: END });
    expect(draft.get('shop')).toEqual({ add: [], remove: [], ends: { owner: LATER } });
    expect(rolesToWrite(['owner'], { add: [], remove: [], ends: { owner: null } })).toEqual([
      { role: 'owner', endsAt: null },
    ]);
    expect(ending(draft, 'shop', { role: 'owner', endsAt: END, held: END })).toEqual(new Map());
  });

  test('is forgotten with the role that is taken', () => {
    const draft = ending(new Map(), 'shop', { role: 'owner', endsAt: LATER, held: null });
    expect(turned(draft, 'shop', 'owner', ['owner']).get('shop')).toEqual({ add: [], remove: ['owner'] });
  });
});
