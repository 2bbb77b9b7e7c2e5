import { describe, expect, test } from '@jest/globals';
import { eventsOf } from '../../panel/src/shell/live.ts';
import { rightsOf } from '../../panel/src/shell/rights.ts';
import { cs } from '../../panel/src/words/cs.ts';
import { en } from '../../panel/src/words/en.ts';
import { formatsOf } from '../../panel/src/words/formats.ts';

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

  test('gives no event that has not ended', async () => {
    expect(await read('data: half')).toEqual([]);
  });
});

describe('words', () => {
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

  test('no text of one language is left empty, or is that of the other where sentences are', () => {
    const texts = (value: unknown): string[] =>
      typeof value === 'string'
        ? [value]
        : typeof value === 'object' && value !== null
          ? Object.values(value).flatMap(texts)
          : [];
    expect([...texts(en), ...texts(cs)].filter((text) => text.trim() === '')).toEqual([]);
    const english = new Set(texts(en).filter((text) => text.split(' ').length > 3));
    expect(texts(cs).filter((text) => english.has(text))).toEqual([]);
  });
});
