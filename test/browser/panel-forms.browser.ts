import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { Hand } from './hand.ts';
import { KINDS, type Kind } from './kinds.ts';
import type { PanelPage } from './panel.ts';
import { usePanel } from './panel-fixture.ts';
import { follow } from './rights-page.ts';
import { isWrite, makeUsable, USES } from './rights-uses.ts';

/** The browser's own lines for requests that fail. */
const FAILED = /Failed to load resource|net::ERR_/;
const OWN_RIGHTS = '**/api/profile/me/admin-status';

const panels = usePanel('pglite', makeUsable);
const open = new Map<Kind, PanelPage>();

beforeAll(async () => {
  for (const kind of ['superadmin', 'edit', 'nobody'] as const) {
    const panel = await panels.open({ as: KINDS[kind], expected: FAILED });
    await panel.go('/');
    open.set(kind, panel);
  }
}, 120_000);

/** What becomes of a write on its way. */
type Fault = 'away' | 'refused' | 'ended' | null;

/** Stands between the page and the service, for one write. */
class Between {
  fault: Fault = 'away';
  readonly bodies: (string | null)[] = [];
  readonly #write: RegExp;

  constructor(write: RegExp) {
    this.#write = write;
  }

  async stand(page: Page): Promise<void> {
    await page.route('**/api/**', (route) => this.#answer(route));
    await page.route('**/dev/sign-in?*', (route) =>
      this.fault === 'ended' ? route.fulfill({ status: 401, json: { message: 'ended' } }) : route.fallback(),
    );
  }

  async #answer(route: Route): Promise<void> {
    const request = route.request();
    if (!isWrite(this.#write, request)) return await route.fallback();
    this.bodies.push(request.postData());
    if (this.fault === 'away') return await route.abort();
    if (this.fault === null) return await route.fallback();
    const [status, code] = this.fault === 'refused' ? [403, 'FORBIDDEN'] : [401, 'UNAUTHENTICATED'];
    await route.fulfill({ status, json: { success: false, code, message: `The level is ${this.fault}.` } });
  }
}

/** A file that is chosen is sent at once: nothing is typed, and it is chosen again. */
const TYPED = USES.filter(({ control }) => !control.includes(' from a file'));

describe('a form whose write does not arrive', () => {
  test.each(TYPED)('keeps what was typed until it does: $title', async ({ path, kinds, write, act }) => {
    const panel = open.get(kinds.at(-1) ?? 'nobody');
    if (panel === undefined) throw new Error(`no panel is open for ${path}`);
    const { page, complaints } = panel;
    await follow(page, path);
    const between = new Between(write);
    await between.stand(page);
    const hand = new Hand(page);
    const alert = page.getByRole('alert');

    await act(hand);
    await alert.getByText('Usher cannot be reached. What you typed is kept.').first().waitFor();

    between.fault = 'refused';
    const asked = page.waitForRequest(OWN_RIGHTS);
    await hand.again();
    await alert.getByText('The level is refused.').first().waitFor();
    await asked;

    between.fault = 'ended';
    await hand.again();
    const ended = page.getByRole('dialog', { name: 'Your session has ended' });
    await ended.waitFor();
    between.fault = null;
    const made = page.waitForResponse((response) => isWrite(write, response.request()));
    await ended.getByRole('button', { name: 'Sign in again' }).click();
    expect(Math.floor((await made).status() / 100)).toBe(2);
    await ended.waitFor({ state: 'detached' });
    expect(new Set(between.bodies).size).toBe(1);
    expect([between.bodies.length, complaints]).toEqual([4, []]);
    await page.unrouteAll({ behavior: 'wait' });
  });
});
