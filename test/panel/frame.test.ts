import { describe, expect, test } from '@jest/globals';
import { isConcerned } from '../../panel/src/api/queries.ts';
import { concernedBy } from '../../panel/src/shell/concerned.ts';
import { eventsOf } from '../../panel/src/shell/live.ts';
import { mayWriteIn } from '../../panel/src/shell/panel-app.ts';
import { rightsOf } from '../../panel/src/shell/rights.ts';
import { cs } from '../../panel/src/words/cs.ts';
import { en } from '../../panel/src/words/en.ts';
import { formatsOf } from '../../panel/src/words/formats.ts';
import { PLACE_WORDS } from '../../panel/src/words/places.ts';

const STATUS = {
  email: 'ann@example.com',
  isSuperAdmin: false,
  appAdminFor: [],
  panelPermissions: [],
  roles: [],
  applications: [],
};

describe('what is offered to a person', () => {
  test('everything to a SuperAdmin, also in applications that the answer does not list', () => {
    const rights = rightsOf({ ...STATUS, isSuperAdmin: true });
    expect([rights.any, rights.level('shop'), rights.mayEdit('shop')]).toEqual([true, 'edit', true]);
  });

  test('by level in the applications listed, nothing elsewhere', () => {
    const applications = [
      { appCode: 'shop', level: 'view' as const },
      { appCode: 'crm', level: 'edit' as const },
    ];
    const rights = rightsOf({ ...STATUS, applications });
    expect(['shop', 'crm', 'auth'].map((code) => rights.level(code))).toEqual(['view', 'edit', null]);
    expect(['shop', 'crm', 'auth'].map((code) => rights.mayEdit(code))).toEqual([false, true, false]);
  });

  test('nothing to somebody who administers nothing', () => {
    expect(rightsOf(STATUS).any).toBe(false);
  });
});

describe('a stream of events', () => {
  const read = async (...pieces: string[]) => {
    const body = (async function* () {
      for (const piece of pieces) yield new TextEncoder().encode(piece);
    })();
    return await Array.fromAsync(eventsOf(body));
  };

  test('is read whole however it is cut', async () => {
    const text = 'event: change\nid: 7\ndata: {"a":\ndata: "č"}\n\n: heartbeat\n\ndata: x\r\n\r\n';
    const bytes = [...new TextEncoder().encode(text)];
    const expected = [
      { name: 'change', id: '7', data: '{"a":\n"č"}' },
      { name: 'message', id: null, data: 'x' },
    ];
    expect(await read(text)).toEqual(expected);
    const single = (async function* () {
      for (const byte of bytes) yield Uint8Array.of(byte);
    })();
    expect(await Array.fromAsync(eventsOf(single))).toEqual(expected);
  });

  test('gives the id that it begins with, which comes without data', async () => {
    expect(await read('id: 41.7\n\n: heartbeat\n\n')).toEqual([{ name: 'message', id: '41.7', data: '' }]);
  });

  test('gives no event that has not ended', async () => {
    expect(await read('data: half')).toEqual([]);
  });
});

describe('a change by somebody', () => {
  const ofShop = { path: { appCode: 'shop' } };
  const KEYS = {
    roles: ['GET /api/applications/{appCode}/roles', ofShop],
    explained: ['POST /api/applications/{appCode}/explain', ofShop],
    people: ['POST /api/applications/{appCode}/subjects', ofShop, 'pages'],
    preview: ['POST /api/applications/{appCode}/templates/preview', ofShop, '{}'],
    plan: ['POST /api/applications/{appCode}/manifest', ofShop, ''],
    other: ['GET /api/applications/{appCode}', { path: { appCode: 'shop2' } }],
    applications: ['GET /api/applications', {}],
    overview: ['GET /api/admin/overview', {}],
    audit: ['GET /api/admin/audit', {}, 'pages'],
    brands: ['GET /api/admin/brands', {}],
    brandPreview: ['POST /api/admin/brands/{id}/preview', { path: { id: 1 } }],
    users: ['GET /api/users', {}, 'pages'],
    ann: ['GET /api/users/{email}', { path: { email: 'ann@example.com' } }],
    access: ['GET /api/users/{email}/access', { path: { email: 'ann@example.com' } }],
    languages: ['GET /api/languages', {}],
    rehearsal: ['rehearse', 'r1', 'PUT /api/users/{email}', {}],
  };
  const askedAgain = (scopes: Parameters<typeof concernedBy>[0], own = 'me@example.com') => {
    const concerned = concernedBy(scopes, own);
    return Object.entries(KEYS).flatMap(([name, key]) => (concerned.some((one) => isConcerned(key, one)) ? name : []));
  };
  const READS = Object.keys(KEYS).filter((name) => !/preview|plan|rehears/i.test(name));

  test('of an application asks again for what is of it, and not of one whose code begins alike', () => {
    expect(askedAgain([{ application: 'shop' }])).toEqual([
      'roles',
      'explained',
      'people',
      'applications',
      'overview',
      'audit',
      'access',
    ]);
  });

  test('of a person asks again for them and for the lists of people', () => {
    expect(askedAgain([{ email: 'ann@example.com' }])).toEqual(['overview', 'audit', 'users', 'ann', 'access']);
    expect(askedAgain([{ email: 'ann@example.co' }])).toEqual(['overview', 'audit', 'users']);
  });

  test('of anything, or of one’s own rights, asks again for all but previews and rehearsals', () => {
    expect(askedAgain([{ application: 'crm' }, {}])).toEqual(READS);
    expect(askedAgain([{ email: 'me@example.com' }])).toEqual(READS);
  });
});

describe('words', () => {
  const wordsOf = (language: 'en' | 'cs') => Promise.all(Object.values(PLACE_WORDS[language]).map((load) => load()));

  test('times are told in the largest unit that fits, in the reader’s language', () => {
    const now = Date.parse('2026-11-23T12:00:00Z');
    const ago = (seconds: number) => formatsOf('en').ago(new Date(now - seconds * 1000).toISOString(), now);
    expect([ago(5), ago(120), ago(7200), ago(86_400)]).toEqual([
      '5 seconds ago',
      '2 minutes ago',
      '2 hours ago',
      'yesterday',
    ]);
    expect(formatsOf('cs').ago('2026-11-23T11:58:00Z', now)).toBe('před 2 minutami');
  });

  test('Czech has its own forms for two and for five', () => {
    expect([1, 2, 5].map((n) => cs.common.rows(n))).toEqual(['1 řádek', '2 řádky', '5 řádků']);
    expect([1, 2].map((n) => en.common.rows(n))).toEqual(['1 row', '2 rows']);
  });

  test('no text of one language is left empty, or is that of the other where sentences are', async () => {
    const [inEnglish, inCzech] = [
      [en, ...(await wordsOf('en'))],
      [cs, ...(await wordsOf('cs'))],
    ];
    const texts = (value: unknown): string[] =>
      typeof value === 'string'
        ? [value]
        : typeof value === 'object' && value !== null
          ? Object.values(value).flatMap(texts)
          : [];
    expect([...texts(inEnglish), ...texts(inCzech)].filter((text) => text.trim() === '')).toEqual([]);
    const english = new Set(texts(inEnglish).filter((text) => text.split(' ').length > 3));
    expect(texts(inCzech).filter((text) => english.has(text))).toEqual([]);
  });
});

test('what the service itself is ruled by is offered to SuperAdmins alone', () => {
  const editor = { isSuperAdmin: false, mayEdit: (appCode: string) => appCode !== 'other' };
  expect(['auth', 'shop', 'other'].map((appCode) => mayWriteIn(editor, appCode))).toEqual([false, true, false]);
  expect(mayWriteIn({ isSuperAdmin: true, mayEdit: () => true }, 'auth')).toBe(true);
});
