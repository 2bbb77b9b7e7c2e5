import { describe, expect, test } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { untilTrue } from './panel.ts';
import { usePanel } from './panel-fixture.ts';
import { watchLoad } from './panel-weight.ts';
import { makeDemo } from './panel-world.ts';

const ADMIN = 'admin@example.com';
const panels = usePanel('pglite', makeDemo);

/** Kilobytes of each place: those of the first list are the goal, the others what they take today. */
const PLACES = [
  ['/', 129.5],
  ['/applications', 122],
  ['/applications/atelier', 132.3],
  ['/people', 122],
  ['/people/clara%40example.com', 133],
  ['/activity', 129],
  ['/notifications', 128.5],
  ['/brands', 129],
  ['/sign-in', 122],
  ['/settings', 122],
  // With the field to choose a person.
  ['/ask', 193],
] as const;

/** Holds requests until `release`, in the order in which they came. */
async function hold(page: Page, what: RegExp): Promise<{ held: string[]; release: () => Promise<void> }> {
  const held: string[] = [];
  const waiting: Route[] = [];
  let isHolding = true;
  await page.route(what, async (route) => {
    held.push(new URL(route.request().url()).pathname);
    if (isHolding) waiting.push(route);
    else await route.continue();
  });
  return {
    held,
    release: async () => {
      isHolding = false;
      await Promise.all(waiting.map((route) => route.continue()));
    },
  };
}

describe('until it is read', () => {
  test.each(PLACES)('%s takes %d kB of files and six requests', async (place, kilobytes) => {
    const panel = await panels.open({ as: ADMIN });
    panel.page.setDefaultTimeout(30_000);
    const load = watchLoad(panel.page);
    await panel.go(place);
    expect(load.gzip()).toBeLessThanOrEqual(kilobytes);
    expect(load.requests().length).toBeLessThanOrEqual(6);
    expect(new Set(load.requests()).size).toBe(load.requests().length);
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });

  test('rights and list are asked for together, before either is answered', async () => {
    for (const [place, ...paths] of [
      ['/applications', '/api/applications'],
      ['/people', '/api/users'],
      ['/people/clara%40example.com', '/api/users/clara%40example.com', '/api/users/clara%40example.com/access'],
    ] as const) {
      const panel = await panels.open({ as: ADMIN });
      const { held, release } = await hold(panel.page, /\/api\/(?!admin\/stream)/);
      await panel.page.goto(`${panels.usher.rest.replace('127.0.0.1', 'localhost')}/panel${place}`);
      const expected = [...paths, '/api/profile/me/admin-status'];
      for (let tries = 0; tries < 100 && held.length < expected.length; tries++) await panel.page.waitForTimeout(50);
      expect(held).toEqual(expected);
      await release();
      await panel.page.locator('h1').waitFor();
      expect(panel.complaints).toEqual([]);
      await panel.close();
    }
  });
});

describe('the first paint', () => {
  test('is the frame, before any code has run, and nothing moves when the panel takes its place', async () => {
    for (const [dark, width] of [
      [false, 1280],
      [true, 320],
    ] as const) {
      const panel = await panels.open({ as: ADMIN, dark, width });
      const { page } = panel;
      await page.addInitScript(`
        window.shift = 0;
        new PerformanceObserver((list) => { for (const one of list.getEntries()) shift += one.value; })
          .observe({ type: 'layout-shift', buffered: true });`);
      const { release } = await hold(page, /\.js$/);
      await page.goto(`${panels.usher.rest.replace('127.0.0.1', 'localhost')}/panel/applications`, {
        waitUntil: 'commit',
      });
      await page.locator('.starting').waitFor();
      const painted = "performance.getEntriesByName('first-contentful-paint').length";
      await untilTrue(page, `${painted} === 1`);
      const ground = await page.evaluate('getComputedStyle(document.body).backgroundColor');
      expect(ground).toBe(dark ? 'rgb(16, 18, 22)' : 'rgb(251, 251, 252)');
      await release();
      await page.getByRole('table').waitFor();
      expect(await page.locator('.starting').isVisible()).toBe(false);
      expect((await page.evaluate('shift')) as number).toBeLessThanOrEqual(0.02);
      expect(panel.complaints).toEqual([]);
      await panel.close();
    }
  });
});
