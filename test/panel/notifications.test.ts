import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { notifications as czech } from '../../panel/src/places/notifications/cs.ts';
import { notifications as english } from '../../panel/src/places/notifications/en.ts';
import {
  EMPTY,
  emptyIn,
  knownIn,
  linkOf,
  mayRetry,
  orderOf,
  payloadOf,
  reasonOf,
  shownAt,
  withValue,
} from '../../panel/src/places/notifications/sends.ts';
import { barsOf, ceilingOf, reasonsOf, type StatRow, totalsOf } from '../../panel/src/places/notifications/stats.ts';
import { rightsOf } from '../../panel/src/shell/rights.ts';

const NOW = Date.parse('2026-03-10T14:25:00Z');
const row = (hour: string, reason: string | null, count: number, brand = 'default'): StatRow => ({
  hour: `2026-03-10T${hour}:00:00.000Z`,
  channel: 'email',
  brand,
  reason,
  count,
});

describe('deliveries by the hour', () => {
  const rows = [row('14', null, 3), row('14', 'no_smtp', 2), row('12', null, 5, 'atelier'), row('12', null, 1)];

  test('there is a bar for every hour, the oldest first, also without a delivery', () => {
    const bars = barsOf(rows, 3, NOW);
    expect(bars.map(({ hour, sent, failed }) => [hour.slice(11, 13), sent, failed])).toEqual([
      ['11', 0, 0],
      ['12', 6, 0],
      ['13', 0, 0],
      ['14', 3, 2],
    ]);
    expect(totalsOf(bars)).toEqual({ sent: 9, failed: 2 });
  });

  test('rows before the first bar are left out, and nothing at all is drawn on a scale of one', () => {
    expect(totalsOf(barsOf([row('02', null, 9)], 3, NOW))).toEqual({ sent: 0, failed: 0 });
    expect(ceilingOf(barsOf([], 3, NOW))).toBe(1);
  });

  test('the scale ends at 1, 2 or 5 with zeros', () => {
    const top = (sent: number) => ceilingOf([{ hour: '', sent, failed: 0 }]);
    expect([1, 2, 3, 6, 11, 26, 100, 101, 99_999].map(top)).toEqual([1, 2, 5, 10, 20, 50, 100, 200, 100_000]);
  });

  test('reasons are counted with their brands, the most frequent first, and arrivals are none', () => {
    const failed = [row('14', 'no_smtp', 2), row('12', 'push_gone', 4), row('13', 'no_smtp', 3, 'atelier')];
    expect(reasonsOf([...rows.filter(({ reason }) => reason === null), ...failed])).toEqual([
      { reason: 'no_smtp', count: 5, brands: ['atelier', 'default'] },
      { reason: 'push_gone', count: 4, brands: ['default'] },
    ]);
  });
});

describe('reasons in words', () => {
  test('every reason that the operations page lists has words in both languages', () => {
    const page = readFileSync('docs/operations/mail-and-push.md', 'utf8');
    const [, table = ''] = /\| `error` of a delivery[^\n]*\n([\s\S]*?)\n\n/.exec(page) ?? [];
    const codes = table.split('\n').flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`(\w+)`/g)]);
    expect(codes.length).toBeGreaterThan(20);
    for (const [, code = ''] of [...codes, ['', 'notifications_disabled']]) {
      for (const { reasons } of [english, czech]) expect([code, reasons[code]?.length]).toEqual([code, 2]);
    }
    expect(Object.keys(czech.reasons)).toEqual(Object.keys(english.reasons));
  });

  test('the reason of a delivery says more than that of the notification', () => {
    const delivery = { channel: 'email', status: 'failed', attempts: 1, sentAt: null } as const;
    const arrived = { ...delivery, error: null };
    expect(reasonOf({ statusReason: 'user_inactive', deliveries: [] })).toBe('user_inactive');
    expect(reasonOf({ statusReason: null, deliveries: [arrived, { ...delivery, error: 'no_smtp' }] })).toBe('no_smtp');
    expect(reasonOf({ statusReason: null, deliveries: [arrived] })).toBeNull();
  });
});

describe('what may be retried', () => {
  const status = { email: 'ann@example.com', isSuperAdmin: false, appAdminFor: [], panelPermissions: [], roles: [] };
  const editor = rightsOf({
    ...status,
    applications: [
      { appCode: 'shop', level: 'edit' as const },
      { appCode: 'crm', level: 'view' as const },
      { appCode: 'auth', level: 'edit' as const },
    ],
  });
  const sent = { appCode: 'shop', status: 'failed', type: 'generic' };

  test('what failed or arrived in part, in applications that one may edit', () => {
    expect(mayRetry(editor, sent)).toBe(true);
    expect(mayRetry(editor, { ...sent, status: 'partial' })).toBe(true);
    for (const other of [{ status: 'queued' }, { status: 'sent' }, { appCode: 'crm' }, { appCode: 'nowhere' }]) {
      expect(mayRetry(editor, { ...sent, ...other })).toBe(false);
    }
  });

  test('in auth only by SuperAdmins, and mails of the identity provider by nobody', () => {
    const root = rightsOf({ ...status, isSuperAdmin: true, applications: [] });
    expect([mayRetry(editor, { ...sent, appCode: 'auth' }), mayRetry(root, { ...sent, appCode: 'auth' })]).toEqual([
      false,
      true,
    ]);
    expect(mayRetry(root, { ...sent, type: 'auth_idp' })).toBe(false);
  });
});

describe('a send', () => {
  test('leaves out what was left empty', () => {
    const order = orderOf({ ...EMPTY, subject: 'Hello', locale: '  ' }, ['ann@example.com'], { a: 1 });
    expect(order).toEqual({ type: 'generic', recipients: ['ann@example.com'], payload: { a: 1 }, subject: 'Hello' });
  });

  test('takes an object as its payload, and nothing else', () => {
    expect(payloadOf('  ')).toEqual({ payload: {} });
    expect(payloadOf('{"n": [1]}')).toEqual({ payload: { n: [1] } });
    for (const text of ['[1]', 'null', '"x"', '3', '{"n"']) expect(payloadOf(text)).toHaveProperty('fault');
  });

  test('has a link for a browser only where it names an address of the web', () => {
    expect(linkOf('https://example.com/a')).toBe('https://example.com/a');
    for (const url of ['/a', 'javascript:alert(1)', 'data:text/html,x', null]) expect(linkOf(url)).toBeNull();
  });
});

describe('the variables of a template', () => {
  const blank = { html: '', text: null, pushTitle: null, pushBody: null, url: null, requiredVariables: [] };
  const variants = [
    { ...blank, subject: 'Ticket {{number}}', html: '{{order.id}} {{user.name}}', requiredVariables: ['number'] },
    { ...blank, subject: 'L\u00edstek {{number}}', text: '{{note}}' },
  ];

  test('are those of every language, the required ones first, without what the service gives', () => {
    expect(knownIn(variants)).toEqual([
      { name: 'number', required: true },
      { name: 'order.id', required: false },
      { name: 'note', required: false },
    ]);
  });

  test('are filled one by one, and empty ones are known', () => {
    const filled = withValue(withValue({ kept: 1 }, 'number', '17'), 'order.id', 'A');
    expect(filled).toEqual({ kept: 1, number: '17', order: { id: 'A' } });
    expect(emptyIn(knownIn(variants), filled).map(({ name }) => name)).toEqual(['note']);
    expect(withValue(filled, 'order.id', '')).toEqual({ kept: 1, number: '17' });
    expect(withValue({}, 'items', '[1, 2]')).toEqual({ items: [1, 2] });
    expect(withValue({}, 'items', '[1, 2')).toEqual({ items: '[1, 2' });
    expect([shownAt({ items: [1] }, 'items'), shownAt({ a: 'b' }, 'a.b'), shownAt({}, 'x')]).toEqual(['[1]', '', '']);
  });
});
