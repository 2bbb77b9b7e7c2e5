import { describe, expect, test } from '@jest/globals';
import { endOf, fromField, standingOf, toField, windowOf } from '../../panel/src/parts/until.ts';

const local = (iso: string): string => {
  const at = new Date(iso);
  return `${at.getFullYear()}-${at.getMonth() + 1}-${at.getDate()} ${at.getHours()}:${at.getMinutes()}`;
};

describe('an end that is chosen', () => {
  test.each([
    ['today', new Date(2026, 10, 28, 18, 5), '2026-11-29 0:0'],
    ['week', new Date(2026, 10, 28, 18, 5), '2026-12-6 0:0'],
    ['month', new Date(2026, 10, 28, 18, 5), '2026-12-29 0:0'],
    ['month', new Date(2026, 0, 31, 0, 0), '2026-3-1 0:0'],
    ['month', new Date(2026, 11, 31, 23, 59), '2027-2-1 0:0'],
    ['today', new Date(2026, 11, 31, 23, 59), '2027-1-1 0:0'],
  ] as const)('%s from %s is the midnight at which the day has ended', (length, now, expected) => {
    expect(local(endOf(length, now))).toBe(expected);
  });

  test('is the same in the field and out of it, to the minute', () => {
    const iso = new Date(2026, 11, 4, 18, 0).toISOString();
    expect(toField(iso)).toBe('2026-12-04T18:00');
    expect(fromField(toField(iso))).toBe(iso);
  });

  test.each(['', '2026-12-04T', 'tomorrow', '2026-13-04T18:00'])('is not taken from %j', (text) => {
    expect(fromField(text)).toBeNull();
  });

  test('is empty in the field for what is no time', () => {
    expect(toField('tomorrow')).toBe('');
  });
});

describe('a grant', () => {
  const now = Date.parse('2026-11-28T12:00:00Z');
  const inDays = (days: number) => new Date(now + days * 24 * 3600_000).toISOString();

  test.each([
    ['nothing', {}, null],
    ['a beginning that has passed', { startsAt: inDays(-1) }, null],
    ['a beginning to come', { startsAt: inDays(1) }, 'ahead'],
    ['both to come', { startsAt: inDays(1), endsAt: inDays(2) }, 'ahead'],
    ['an end in 6 days', { endsAt: inDays(6) }, 'soon'],
    ['an end in 8 days', { startsAt: inDays(-1), endsAt: inDays(8) }, 'running'],
    ['the beginning now', { startsAt: inDays(0), endsAt: inDays(8) }, 'running'],
  ] as const)('with %s', (_, window, expected) => {
    expect(standingOf(windowOf(window), now)).toBe(expected);
  });
});
