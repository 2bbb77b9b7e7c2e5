import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';

const ROOT = resolve(import.meta.dirname, '../..');

test('what cached facts and repeated checks are counted as is near to what they take of the heap', () => {
  const process = ['--expose-gc', '--no-warnings', 'test/engine/heap-of-facts.ts'];
  const printed = execFileSync('bin/node', process, { cwd: ROOT, encoding: 'utf8' });
  const sizes = Object.entries(JSON.parse(printed) as Record<string, { real: number; counted: number }>);
  expect(sizes).toHaveLength(5);
  for (const [kind, { real, counted }] of sizes) {
    expect({ kind, real, counted, isNear: counted > real / 1.6 && counted < real * 1.6 }).toMatchObject({
      isNear: true,
    });
  }
});
