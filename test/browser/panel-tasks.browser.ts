/** What somebody does who sets up their first application, in the panel alone: counted, at two widths, in light and dark. */
import { describe, expect, test } from '@jest/globals';
import { CountingHand } from './counting-hand.ts';
import { axeFaults, overflow, settled } from './panel.ts';
import { usePanel } from './panel-fixture.ts';
import { TASKS } from './tasks.ts';

/** Presses and keys that the same list took in the panel of 28 November 2026. */
const BEFORE = 298;

describe.each([
  { width: 1440, dark: false },
  { width: 390, dark: true },
])('an administrator at a fresh service, in a window of $width pixels, dark: $dark', ({ width, dark }) => {
  const panels = usePanel('pglite');

  test('sets up an application with a fifth fewer presses, and meets no fault', async () => {
    // A preview of a mail is in a sandbox, which has no storage, and to which a picture of this origin is another's.
    const expected = /sessionStorage|ERR_BLOCKED_BY_RESPONSE/;
    const panel = await panels.open({ as: 'admin@example.com', width, dark, expected });
    await panel.go('/');
    const hand = new CountingHand(panel.page);
    const counts: [string, number][] = [];
    const faults: [string, unknown][] = [];
    for (const { title, act } of TASKS) {
      const before = hand.count;
      await act(hand);
      await settled(panel.page);
      counts.push([title, hand.count - before]);
      const found = [...(await axeFaults(panel.page)), ...((await overflow(panel.page)) > 0 ? ['is too wide'] : [])];
      if (found.length > 0) faults.push([title, found]);
    }
    expect(faults).toEqual([]);
    expect(panel.complaints).toEqual([]);
    // Choosing from lists of a narrow window takes more presses than the grid takes keys.
    expect([counts, hand.count <= BEFORE * (hand.isNarrow ? 0.85 : 0.8)]).toEqual([counts, true]);
    await panel.close();
  }, 180_000);
});
