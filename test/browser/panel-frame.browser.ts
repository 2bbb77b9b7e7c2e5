import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { launchChromium } from './chromium.ts';
import { axeFaults, openPanel, overflow } from './panel.ts';

let storage: TestStorage;
let usher: RunningUsher;
let browser: Browser;

beforeAll(async () => {
  [storage, browser] = await Promise.all([createStorage('pglite'), launchChromium()]);
  usher = await startUsher(storage);
}, 90_000);
afterAll(async () => {
  await browser?.close();
  await usher?.close();
  await storage?.remove();
});

describe('the frame of the panel', () => {
  test('is without faults of accessibility in light and dark, and as wide as a narrow window', async () => {
    for (const dark of [false, true]) {
      const panel = await openPanel(browser, usher, { as: 'admin@example.com', dark, width: 320 });
      await panel.go('/applications');
      expect(await axeFaults(panel.page)).toEqual([]);
      expect(await overflow(panel.page)).toBe(0);
      expect(panel.complaints).toEqual([]);
      await panel.close();
    }
  });
});
