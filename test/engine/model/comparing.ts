/** Compares what the engine of a simulation answers with what the oracle says. */
import type { Decision, EffectiveItem, Subject } from '../../../src/engine/types.ts';
import { effectiveOf } from '../../oracle/oracle.ts';
import type { Rows } from '../../oracle/rows.ts';
import { asDecision } from '../../oracle/storage.ts';

/** Whether the engine decides as the oracle says. */
export function isSame(decision: Decision, expected: Parameters<typeof asDecision>[0]): boolean {
  const { granted, level, source } = asDecision(expected);
  return decision.granted === granted && decision.level === level && decision.source === source;
}

export function isEffective(items: readonly EffectiveItem[], rows: Rows, subject: Subject): boolean {
  const expected = effectiveOf(rows, subject);
  return (
    items.length === expected.length &&
    items.every((item, index) => {
      const row = expected[index];
      return (
        row !== undefined &&
        item.code === row.code &&
        item.tiered === (row.type === 'tiered') &&
        item.groupName === row.groupName &&
        item.global === row.global &&
        isSame({ ...item, tiered: true }, row)
      );
    })
  );
}
