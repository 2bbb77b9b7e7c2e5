import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { hardText, makeHard } from './hard-world.ts';
import { overflow } from './panel.ts';
import { usePanel } from './panel-fixture.ts';
import { makeDemo } from './panel-world.ts';
import { SCREENS } from './screens.ts';

const ADMIN = 'admin@example.com';
const panels = usePanel('pglite', async (usher) => {
  await makeDemo(usher);
  await makeHard(usher);
});

/** Views in which people's text stands beside something else, and those that draw most of it. */
const VIEWS = new Set(
  `applications overview matrix permissions application-people role permission add-people entities new-override types people person
  change-roles ask inbox brands languages configuration sign-in-mails activity notifications mailbox`.split(/\s+/),
);

/** Text that reaches out of what cuts it off, and so cannot be read whole: neither by scrolling, nor marked by an ellipsis. */
const OUTSIDE = `(() => {
  const cut = [];
  const texts = document.createTreeWalker(document.querySelector('dialog[open]') ?? document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (texts.nextNode()) {
    range.selectNodeContents(texts.currentNode);
    const { left, right, width } = range.getBoundingClientRect();
    let around = width === 0 ? null : texts.currentNode.parentElement;
    for (; around !== null; around = around.parentElement) {
      const { overflowX, textOverflow, webkitLineClamp } = getComputedStyle(around);
      const box = around.getBoundingClientRect();
      if (['auto', 'scroll'].includes(overflowX) && !around.matches('dialog, dialog *, html, body')) break;
      if (textOverflow === 'ellipsis' || webkitLineClamp !== 'none' || around.matches('.visually-hidden, select')) break;
      if ((overflowX !== 'visible' || around.matches('html')) && (right > box.right + 1 || left < box.left - 1)) {
        cut.push(around.tagName + '.' + around.className + ': ' + texts.currentNode.data.slice(0, 60));
        break;
      }
    }
  }
  return cut;
})()`;

async function outside(page: Page): Promise<string[]> {
  return (await page.evaluate(OUTSIDE)) as string[];
}

describe('text that nobody expected', () => {
  test.each([1280, 390])(
    'stays within its page and its dialogs at %i pixels, and runs nothing',
    async (width) => {
      const { page, complaints, go, close } = await panels.open({ as: ADMIN, width });
      for (const { name, path, act } of SCREENS.filter((screen) => VIEWS.has(screen.name))) {
        await go(path);
        await act?.(page);
        expect({ name, out: await outside(page), by: await overflow(page) }).toEqual({ name, out: [], by: 0 });
        expect(await page.title()).not.toBe('hit');
      }
      expect(complaints).toEqual([]);
      await close();
    },
    90_000,
  );

  test('turns around nothing that stands beside it', async () => {
    const { page, complaints, go, close } = await panels.open({ as: ADMIN });
    await go('/notifications/inbox');
    // The name of the application ends within an override of direction: what follows still reads from left to right.
    const order = (await page.evaluate(`(() => {
      const line = document.querySelector('main li p:last-of-type');
      const range = document.createRange();
      range.selectNodeContents(line.querySelector('time'));
      const time = range.getBoundingClientRect();
      range.selectNodeContents(line.querySelector('time').firstChild);
      range.setEnd(range.startContainer, 1);
      return { first: range.getBoundingClientRect().left, start: time.left };
    })()`)) as { first: number; start: number };
    expect(order.first).toBeCloseTo(order.start, 0);
    expect(complaints).toEqual([]);
    await close();
  }, 30_000);

  test('is read whole where it is cut, and in its own direction', async () => {
    const { page, complaints, go, close } = await panels.open({ as: ADMIN });
    await go('/applications/atelier');
    expect(await page.locator('header p').getAttribute('title')).toBe(hardText(4, 2_000));
    // Two lines of 2,000 characters stand above the tabs.
    expect((await page.locator('header p').boundingBox())?.height).toBeLessThan(60);
    await go('/applications');
    const link = `[...document.querySelectorAll('main a')].find(({ textContent }) => textContent === ${JSON.stringify(hardText(1))})`;
    expect(await page.evaluate(`getComputedStyle(${link}).unicodeBidi`)).toBe('plaintext');
    expect(complaints).toEqual([]);
    await close();
  }, 30_000);
});
