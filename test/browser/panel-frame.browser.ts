import { describe, expect, test } from '@jest/globals';
import { axeFaults, overflow } from './panel.ts';
import { usePanel } from './panel-fixture.ts';

const panels = usePanel('pglite');

describe('the frame of the panel', () => {
  test('is without faults of accessibility in light and dark, and as wide as a narrow window', async () => {
    for (const dark of [false, true]) {
      const panel = await panels.open({ as: 'admin@example.com', dark, width: 320 });
      await panel.go('/applications');
      expect(await axeFaults(panel.page)).toEqual([]);
      expect(await overflow(panel.page)).toBe(0);
      expect(panel.complaints).toEqual([]);
      await panel.close();
    }
  });
});
