/**
 * Each write that the panel offers, made once: where, by whom, with which controls, and the request that it must come to. The
 * same request is then made by the kinds of people who are not offered it (panel-rights-writes.browser.ts), and is made while the
 * service is away and when the session has ended (panel-forms.browser.ts).
 */
import type { Request } from 'playwright-core';
import type { RunningUsher } from '../support/usher.ts';
import type { Hand } from './hand.ts';
import { type Kind, makeKinds } from './kinds.ts';
import { IN_APPLICATIONS } from './uses-applications.ts';
import { ABOUT_PEOPLE } from './uses-people.ts';
import { OF_THE_SERVICE } from './uses-service.ts';

export interface Use {
  readonly title: string;
  readonly path: string;
  /** The control of the table of rights (rights-table.ts) that it begins with. */
  readonly control: string;
  /** Who is offered it. The last of them makes it: whoever has the fewest rights. */
  readonly kinds: readonly Kind[];
  /** Method and path of the request. */
  readonly write: RegExp;
  readonly act: (hand: Hand) => Promise<void>;
}

export const USES: readonly Use[] = [...IN_APPLICATIONS, ...ABOUT_PEOPLE, ...OF_THE_SERVICE];

/** Whether a request is the write itself, not its dry run. `write` is of a use. */
export function isWrite(write: RegExp, request: Request): boolean {
  const url = new URL(request.url());
  return !url.searchParams.has('dryRun') && write.test(`${request.method()} ${url.pathname}`);
}

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

/** Makes the five kinds of people, and what the uses need. They are made in their order. */
export async function makeUsable(usher: RunningUsher): Promise<void> {
  await makeKinds(usher);
  for (const text of SPARE) await usher.app.manifests.apply(text, { actor: 'system' });
}
