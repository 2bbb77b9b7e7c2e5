import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Request } from 'playwright-core';
import { Rest } from '../support/rest.ts';
import { KINDS, type Kind, makeKinds } from './kinds.ts';
import type { PanelPage } from './panel.ts';
import { usePanel } from './panel-fixture.ts';
import { follow } from './rights-page.ts';
import { Hand, USES } from './rights-uses.ts';

/** Records that a use takes away. */
const SPARE = [
  'application: { code: spare, name: Spare }',
  `application: { code: atelier, name: Atelier }
permissions: [{ code: spare.permission, type: binary }]
roles: [{ code: spare-role }]
entities: [{ code: spare, name: Spare }]
admins: [nora@example.com, eva@client.example]
assignments: [{ email: spare@example.com, roles: [guest] }]`,
];

const kinds = Object.keys(KINDS) as Kind[];
const open = new Map<Kind, PanelPage>();
let root: Rest;

const panels = usePanel('pglite', async (usher) => {
  await makeKinds(usher);
  for (const text of SPARE) await usher.app.manifests.apply(text, { actor: 'system' });
  root = await Rest.as(usher, KINDS.superadmin);
  // A first request makes a profile, which is a change of its own.
  for (const email of Object.values(KINDS)) await (await Rest.as(usher, email)).get('/api/profile/me');
});

beforeAll(async () => {
  for (const kind of ['superadmin', 'edit'] as const) {
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

describe('a write that the panel offers', () => {
  test.each(USES)(
    'succeeds, and is refused to everybody else: $title',
    async ({ path, kinds: offered, write, act }) => {
      const { page, complaints } = panelOf(offered.at(-1));
      await follow(page, path);
      const isIt = (request: Request) => {
        const url = new URL(request.url());
        return !url.searchParams.has('dryRun') && write.test(`${request.method()} ${url.pathname}`);
      };
      const made = page.waitForResponse((response) => isIt(response.request()));
      const [response] = await Promise.all([made, act(new Hand(page))]);
      expect([response.status(), complaints]).toEqual([expect.any(Number), []]);
      expect(Math.floor(response.status() / 100)).toBe(2);

      const request = response.request();
      const { pathname, search } = new URL(request.url());
      const body: unknown = request.postDataJSON() ?? undefined;
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
