import { describe, expect, test } from '@jest/globals';
import { LEVEL_NAMES, LEVELS, RULE_NAMES, SOURCE_NAMES } from '../../src/base/level-names.ts';
import { RULES } from '../../src/engine/evaluate.ts';
import { Level, Source } from '../../src/engine/types.ts';

const named = (numbers: Readonly<Record<string, number>>) =>
  Object.entries(numbers).map(([name, number]) => [number, name === 'NONE' ? null : name.toLowerCase()]);

describe('names of levels, sources and rules', () => {
  test('every level of the engine has its name at its number, and the reverse', () => {
    expect([...LEVEL_NAMES.entries()]).toEqual(named(Level));
    expect(Object.entries(LEVELS).map(([name, level]) => [level, name])).toEqual(named(Level).slice(1));
  });

  test('every source of the engine has its name at its number', () => {
    expect([...SOURCE_NAMES.entries()]).toEqual(named(Source));
  });

  test('each of the six rules has a name', () => {
    expect(RULE_NAMES).toHaveLength(Object.keys(RULES).length + 1);
  });
});
