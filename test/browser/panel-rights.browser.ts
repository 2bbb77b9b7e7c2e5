import { describe, expect, test } from '@jest/globals';
import { KINDS, type Kind, makeKinds } from './kinds.ts';
import { usePanel } from './panel-fixture.ts';
import { controlsOf, follow, isOf } from './rights-page.ts';
import { LEADING, READING, SPOTS, type Spot } from './rights-table.ts';
import { USES } from './rights-uses.ts';

const HIDDEN = 'application: { code: hidden, name: Hidden }\nroles: [{ code: secret-role }]\n';

const panels = usePanel('pglite', async (usher) => {
  await makeKinds(usher);
  await usher.app.manifests.apply(HIDDEN, { actor: 'system' });
});

const kinds = Object.keys(KINDS) as Kind[];

/** What a page should have shown and did not, and the other way around. */
function faultsOf({ controls }: Spot, kind: Kind, shown: readonly string[]): string[] {
  const rows = Object.entries(controls);
  const writing = shown.filter((control) => !READING.some((row) => isOf(row, control)));
  return [
    ...rows
      .filter(([row, of]) => of.includes(kind) && !writing.some((control) => isOf(row, control)))
      .map(([row]) => `lacks ${row}`),
    ...writing
      .filter((control) => !rows.some(([row, of]) => of.includes(kind) && isOf(row, control)))
      .map((control) => `offers ${control}`),
  ];
}

describe('the panel offers exactly what the table of rights says', () => {
  test.each(kinds)('to %s', async (kind) => {
    const { page, go, complaints, close } = await panels.open({ as: KINDS[kind] });
    await go('/');
    const wrong: string[] = [];
    for (const spot of SPOTS.filter((one) => one.kinds.includes(kind))) {
      await follow(page, spot.path);
      // What is more than a question asks for is offered behind it.
      const more = page.getByRole('region', { name: /^What would/ }).getByRole('button', { name: /^Show/ });
      if (await more.isVisible()) await more.click();
      wrong.push(...faultsOf(spot, kind, await controlsOf(page)).map((fault) => `${spot.path} ${fault}`));
      if ((await page.getByRole('alert').count()) > 0) wrong.push(`${spot.path} shows a fault`);
    }
    expect(wrong).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});

/** The view that an address shows, whatever application or person it is of. */
function viewOf(path: string): string {
  const [place = '', , view = '', below = ''] = path.replace(/\?.*/, '').split('/').slice(1);
  if (place !== 'applications') return place;
  if (view === 'records') return `records/${below === 'entities' ? below : ''}`;
  return `${view}/${below === '' ? '' : '*'}`;
}

test('each control of the table that leads to a write is used', () => {
  const leads = SPOTS.flatMap(({ path, controls }) =>
    Object.keys(controls)
      .filter((row) => !LEADING.includes(row))
      .map((row) => ({ row, view: viewOf(path) })),
  );
  const unused = leads.filter(
    ({ row, view }) => !USES.some((use) => isOf(row, use.control) && viewOf(use.path) === view),
  );
  expect(unused).toEqual([]);
});

describe('a direct link without rights', () => {
  const others = kinds.filter((kind) => kind !== 'superadmin');

  test.each(others)('is answered to %s in words, without a request that is refused', async (kind) => {
    const { page, go, complaints, close } = await panels.open({ as: KINDS[kind] });
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
    });
    const hidden = ['', '/matrix', '/people', '/manifest'].map((view) => `/applications/hidden${view}`);
    // Settings and notifications show what is one's own instead.
    const closed = SPOTS.filter((one) => !one.kinds.includes(kind) && !/^\/(settings|notifications)/.test(one.path));
    const paths = [...closed.map(({ path }) => path), ...hidden];
    // The first view asks for its list together with the rights, which are known from then on.
    await go('/');
    for (const path of paths) {
      await follow(page, path);
      const text = await page.locator('main').innerText();
      expect([path, text.includes('This does not exist, or you may not see it.')]).toEqual([path, true]);
      expect([path, (await page.locator('main').getByRole('button').count()) === 0]).toEqual([path, true]);
      expect(text).not.toContain('secret-role');
    }
    expect(refused).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});
