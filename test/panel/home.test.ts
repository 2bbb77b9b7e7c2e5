import { describe, expect, test } from '@jest/globals';
import { type Need, needsOf, type Overview } from '../../panel/src/places/home/needs.ts';
import { applicationOf, QUESTIONS, stepsOf, visitedOf } from '../../panel/src/places/home/tour.ts';
import { recentsOf, withRecent } from '../../panel/src/shell/recents.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const QUIET: Overview = {
  revision: '1.1',
  counts: { applications: 1, people: 1, morePeople: false, roles: 1, permissions: 1, appAdmins: 0 },
  endingSoon: 0,
  sends: { queued: 0, sent: 9, partial: 0, failed: 0, suppressed: 3 },
  oldestWaiting: null,
  failingBrands: [],
  provider: { reachable: null, lastEventAt: null, reconciliation: null },
};
const NOBODY = { count: 0, more: false };
const kinds = (needs: readonly Need[]) => needs.map(({ kind }) => kind);

describe('what needs somebody', () => {
  test('is nothing when all is sent and no provider is configured', () => {
    expect(needsOf(QUIET, NOBODY, NOW)).toEqual([]);
  });

  test('is the worst first', () => {
    const needs = needsOf(
      {
        ...QUIET,
        sends: { ...QUIET.sends, queued: 4, failed: 2, partial: 1 },
        oldestWaiting: '2026-03-01T11:00:00Z',
        endingSoon: 12,
        failingBrands: [{ slug: 'a', name: 'Acme', failures: 2, reason: 'smtp_rejected' }],
        provider: { reachable: false, lastEventAt: '2026-02-01T00:00:00Z', reconciliation: null },
      },
      { count: 50, more: true },
      NOW,
    );
    expect(kinds(needs)).toEqual(['provider', 'failing', 'brands', 'waiting', 'orphans', 'ending']);
    expect(needs.map(({ count, more }) => `${count}${more ? '+' : ''}`)).toEqual(['null', '3', '1', '4', '50+', '12']);
  });

  test('a notification that was accepted a moment ago does not wait yet', () => {
    const waiting = (oldestWaiting: string) => kinds(needsOf({ ...QUIET, oldestWaiting }, NOBODY, NOW));
    expect(waiting('2026-03-01T11:58:00Z')).toEqual([]);
    expect(waiting('2026-03-01T11:54:00Z')).toEqual(['waiting']);
  });

  test('a comparison that was braked or failed, until one is done', () => {
    const none = { created: 0, updated: 0, deactivated: 0, reactivated: 0, removed: 0 };
    const ended = (outcome: 'done' | 'braked' | 'failed') => {
      const times = { startedAt: '2026-03-01T03:00:00Z', endedAt: '2026-03-01T03:00:09Z' };
      const reconciliation = { ...times, outcome, dryRun: false, reason: null, found: none, applied: none };
      const needs = needsOf(
        { ...QUIET, provider: { reachable: true, lastEventAt: null, reconciliation } },
        NOBODY,
        NOW,
      );
      return needs.map(({ kind, tone, detail }) => [kind, tone, detail]);
    };
    expect(ended('done')).toEqual([]);
    expect(ended('braked')).toEqual([['comparison', 'bad', '2026-03-01T03:00:09Z']]);
    expect(ended('failed')).toEqual([['comparison', 'warn', '2026-03-01T03:00:09Z']]);
  });

  test('nothing of the provider where it is not shown', () => {
    const { provider, ...rest } = QUIET;
    expect(provider).toBeDefined();
    expect(needsOf(rest, NOBODY, NOW)).toEqual([]);
  });
});

describe('the tour', () => {
  const rights = (...codes: string[]) => ({
    status: {
      email: 'ada@example.com',
      isSuperAdmin: false,
      appAdminFor: [],
      panelPermissions: [],
      roles: [],
      applications: codes.map((appCode) => ({ appCode, level: 'view' as const })),
    },
  });

  test('goes to the demonstration where it is, else to an application of the person', () => {
    expect(applicationOf(rights('auth', 'shop', 'atelier'))).toBe('atelier');
    expect(applicationOf(rights('auth', 'shop'))).toBe('shop');
    expect(applicationOf(rights('auth'))).toBe('auth');
    expect(applicationOf(rights())).toBeNull();
  });

  test('has five steps everywhere, each with a place', () => {
    for (const app of ['atelier', 'a b', null]) {
      const steps = stepsOf(app);
      expect(steps).toHaveLength(5);
      expect(steps.every((href) => href.startsWith('/') && !href.includes(' '))).toBe(true);
    }
    expect(QUESTIONS[0]).toBe(stepsOf('atelier')[1]);
  });

  test('knows what was opened, whatever storage holds', () => {
    expect(visitedOf(null, 5)).toEqual(new Set());
    expect(visitedOf('0,3,9,x', 5)).toEqual(new Set([0, 3]));
    expect(visitedOf('dismissed', 5)).toBe('dismissed');
  });
});

describe('what was opened last', () => {
  const ada = { kind: 'people', href: '/people/ada%40example.com', label: 'ada@example.com' } as const;

  test('is the last one first, each once, eight at most', () => {
    const many = Array.from({ length: 12 }, (_, n) => ({
      kind: 'people' as const,
      href: `/people/${n}`,
      label: `${n}`,
    }));
    const kept = many.reduce((list, one) => withRecent(list, one), recentsOf(null));
    expect(kept.map(({ label }) => label)).toEqual(['11', '10', '9', '8', '7', '6', '5', '4']);
    expect(withRecent(withRecent([ada], many[0] ?? ada), ada)).toHaveLength(2);
  });

  test('is read from storage only where it is what was kept', () => {
    expect(recentsOf(JSON.stringify([ada]))).toEqual([ada]);
    for (const kept of ['', '{', '{}', '[1,null]', JSON.stringify([{ ...ada, href: 'https://evil.example' }])]) {
      expect(recentsOf(kept)).toEqual([]);
    }
  });
});
