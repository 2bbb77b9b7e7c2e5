/** The tour of the first minute: where each step leads. Whether it was dismissed is kept by the browser. */

import { PANEL_APP } from '../../shell/panel-app.ts';
import type { Rights } from '../../shell/rights.ts';

/** The application of the demonstration (examples/demo.yaml). */
export const DEMONSTRATION = 'atelier';
const CLARA = 'clara@example.com';

const ask = (question: Readonly<Record<string, string>>) =>
  `/ask?${new URLSearchParams({ app: DEMONSTRATION, ...question })}`;
const PROJECT = { resourceType: 'project', resourceId: '1042' };

/** Questions of the demonstration, in the order of `home.questions`. */
export const QUESTIONS: readonly string[] = [
  ask({ email: CLARA, permission: 'project.access', ...PROJECT }),
  ask({ email: 'ben@example.com', permission: 'project.archive', ...PROJECT }),
  ask({ email: 'dan@example.com', permission: 'invoice.approve' }),
];

/** Of the demonstration where it is there, else of the person's first application. */
export function stepsOf(app: string | null): readonly string[] {
  if (app === DEMONSTRATION) {
    return [
      ask({ email: CLARA, permission: 'invoice.access' }),
      ask({ email: CLARA, permission: 'project.access', ...PROJECT }),
      `/applications/${app}/matrix`,
      `/people/${encodeURIComponent(CLARA)}`,
      '/activity',
    ];
  }
  const matrix = app === null ? '/applications' : `/applications/${encodeURIComponent(app)}/matrix`;
  return ['/ask', '/ask', matrix, '/people', '/activity'];
}

/** The application that the tour goes to. */
export function applicationOf({ status }: Pick<Rights, 'status'>): string | null {
  const codes = status.applications.map(({ appCode }) => appCode);
  return codes.includes(DEMONSTRATION) ? DEMONSTRATION : (codes.find((code) => code !== PANEL_APP) ?? codes[0] ?? null);
}

/** The steps that were opened, as kept: numbers, or `dismissed`. */
export function visitedOf(kept: string | null, steps: number): ReadonlySet<number> | 'dismissed' {
  if (kept === 'dismissed') return kept;
  const numbers = (kept ?? '').split(',').flatMap((text) => (/^\d$/.test(text) ? [Number(text)] : []));
  return new Set(numbers.filter((step) => step < steps));
}
