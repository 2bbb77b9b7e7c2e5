import type { DecisionFacts } from './decisions.ts';
import { evaluate } from './evaluate.ts';
import type { EffectiveItem, Subject } from './types.ts';
import type { UnknownCodes } from './unknown-codes.ts';

/** Every permission that the application defines, with what the subject holds of it by these facts. Throws UnknownCode for a type. */
export function itemsOf(
  subject: Subject,
  { policy, person, member, overrides }: DecisionFacts,
  unknownCodes: UnknownCodes,
): EffectiveItem[] {
  unknownCodes.checkType(policy.value, subject.resourceType);
  const levels = overrides === null ? null : overrides.value.levels;
  return policy.value.ordered.map((permission): EffectiveItem => {
    const { code, tiered, groupName, global } = permission;
    const { level, granted, source } = evaluate(person.value, member.value, permission, levels);
    return { code, tiered, groupName, global, level, granted, source };
  });
}
