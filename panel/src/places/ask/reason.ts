/** Why the answer is no, in the one sentence of the rule that decides. */

import type { Text } from '../../words/places.ts';
import { type Question, recordOf } from './question.ts';
import { type Explained, overrideOf, rolesOf } from './rules.ts';

export function reasonOf(explained: Explained, question: Question, { ask: { rules, answer }, common }: Text): string {
  const decides = explained.rules.find((rule) => rule.decides)?.name ?? 'default';
  const { accessLevel } = explained;
  if (accessLevel !== null) {
    return answer.tooLow(common.levels[accessLevel], common.levels[question.level === 'edit' ? 'edit' : 'view']);
  }
  switch (decides) {
    case 'inactive':
      return rules.inactive.yes;
    case 'override':
      return `${rules.override.for(recordOf(question))} ${overrideOf(explained)?.granted === false ? rules.override.denies : ''}`.trim();
    default: {
      const held = rolesOf(explained).map(({ code }) => code);
      return held.length === 0
        ? rules.roles.none
        : rules.roles.noneGives(held.slice(0, NAMED).join(', '), held.length - NAMED);
    }
  }
}

/** As many roles as a sentence holds. */
const NAMED = 5;
