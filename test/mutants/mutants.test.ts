import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { sourceOf } from './mutant.ts';
import { MUTANTS } from './mutants.ts';

/** The mutants themselves run in `npm run test:mutants`; that each can still be made is told by every merge. */
const ROOT = resolve(import.meta.dirname, '../..');

describe('mutants of the service (test/mutants/run.ts)', () => {
  test('each mutant has a unique name', () => {
    const names = MUTANTS.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });

  test.each(MUTANTS)(
    'the text that the mutant replaces occurs once, and leaves a program: $name in $file',
    (mutant) => {
      const { edits, tests } = mutant;
      let text = readFileSync(join(ROOT, sourceOf(mutant)), 'utf8');
      for (const [from, to] of edits) {
        expect(text.split(from)).toHaveLength(2);
        text = text.replace(from, () => to);
      }
      expect(() => stripTypeScriptTypes(text)).not.toThrow();
      expect(tests.filter((name) => !existsSync(join(ROOT, `test/${name}.test.ts`)))).toEqual([]);
    },
  );
});
