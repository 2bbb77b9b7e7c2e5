import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, test } from '@jest/globals';

/**
 * A grant that has ended is not held, whether or not its row is still there (docs/reference/time.md#held). A read of the tables that
 * forgot it would show, or use, what is over: each goes by persistence/windows.ts, or says here why it need not.
 */
const ROOT = resolve(import.meta.dirname, '../../src');

/** Beside deletions: rows that are to go may have ended. */
const READ =
  /(?<!delete )\b(?:from|join) (?:user_role|app_admin|resource_override)\b|selectFrom\('(?:user_role|app_admin|resource_override)\b/g;

const EXCUSED: Readonly<Record<string, { reads: number; why: string }>> = {
  'persistence/catalog/app-admins.ts': { reads: 1, why: 'a builder, with isHeld' },
  'persistence/catalog/entities.ts': { reads: 1, why: 'a builder, with isHeld' },
  'persistence/catalog/overrides.ts': { reads: 1, why: 'those that end soon, by their ends' },
  'persistence/catalog/permissions.ts': { reads: 1, why: 'a row holds the type of its permission until it is gone' },
  'persistence/catalog/manifest-read.ts': { reads: 1, why: 'the same' },
  'persistence/timekeeper/turn.ts': { reads: 6, why: 'it looks for what has ended, and for what has begun' },
  'persistence/directory/erasure.ts': { reads: 3, why: 'scopes of what is deleted, ended or not' },
};

test('every read of grants leaves out those that have ended', () => {
  const found = readdirSync(ROOT, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    // Statements of facts have boundaries of their own: test/persistence/facts-source.test.ts and the lists' tests ask them.
    .filter((path) => !/persistence\/(?:migrations|facts)\//.test(path))
    .map((path) => [relative(ROOT, path), readFileSync(path, 'utf8').match(READ)?.length ?? 0] as const)
    .filter(([, reads]) => reads > 0);
  const excused = Object.entries(EXCUSED).map(([path, { reads }]) => [path, reads] as const);
  const byPath = (rows: readonly (readonly [string, number])[]) => rows.map((row) => row.join(': ')).toSorted();
  expect(byPath(found)).toEqual(byPath(excused));
});
