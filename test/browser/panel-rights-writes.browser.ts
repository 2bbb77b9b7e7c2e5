import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Request } from 'playwright-core';
import { parse } from 'yaml';
import { Rest } from '../support/rest.ts';
import { Hand } from './hand.ts';
import { KINDS, type Kind } from './kinds.ts';
import type { PanelPage } from './panel.ts';
import { usePanel } from './panel-fixture.ts';
import { follow } from './rights-page.ts';
import { isWrite, makeUsable, USES } from './rights-uses.ts';

const kinds = Object.keys(KINDS) as Kind[];
const open = new Map<Kind, PanelPage>();
let root: Rest;

const panels = usePanel('pglite', async (usher) => {
  await makeUsable(usher);
  root = await Rest.as(usher, KINDS.superadmin);
  // A first request makes a profile, which is a change of its own.
  for (const email of Object.values(KINDS)) await (await Rest.as(usher, email)).get('/api/profile/me');
});

beforeAll(async () => {
  for (const kind of ['superadmin', 'edit', 'nobody'] as const) {
    const panel = await panels.open({ as: KINDS[kind] });
    await panel.go('/');
    open.set(kind, panel);
  }
}, 120_000);

function panelOf(kind: Kind | undefined): PanelPage {
  const panel = kind === undefined ? undefined : open.get(kind);
  if (panel === undefined) throw new Error(`no panel is open as ${kind}`);
  return panel;
}

/** The revision of what the engine decides on: a refused write makes none. */
async function revision(): Promise<string> {
  return (await root.get('/api/admin/overview')).body.data.revision;
}

function bodyOf(request: Request): unknown {
  const text = request.postData();
  if (text === null) return undefined;
  return request.headers()['content-type'] === 'application/yaml' ? parse(text) : JSON.parse(text);
}

describe('a write that the panel offers', () => {
  test.each(USES)(
    'succeeds, and is refused to everybody else: $title',
    async ({ path, kinds: offered, write, act }) => {
      const { page, complaints } = panelOf(offered.at(-1));
      await follow(page, path);
      const made = page.waitForResponse((response) => isWrite(write, response.request()));
      const [response] = await Promise.all([made, act(new Hand(page))]);
      expect([response.status(), complaints]).toEqual([expect.any(Number), []]);
      expect(Math.floor(response.status() / 100)).toBe(2);

      const request = response.request();
      const { pathname, search } = new URL(request.url());
      const body = bodyOf(request);
      const before = await revision();
      expect(before).toBeTruthy();
      for (const kind of kinds.filter((one) => !offered.includes(one))) {
        const other = await Rest.as(panels.usher, KINDS[kind]);
        const { status } = await other.send(request.method(), pathname + search, body);
        expect([kind, status]).toEqual([kind, 403]);
      }
      expect(await revision()).toBe(before);
    },
  );
});
