import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';

const SOURCE = resolve(import.meta.dirname, '../../panel/src');

/** Verbs that the panel does not use: it has one for each thing that a button does (docs/guides/panel.md#what-the-buttons-say). */
const OTHERS = {
  en: { Delete: 'Remove', Apply: 'Save', Submit: 'Save', Confirm: 'Save', Update: 'Save', OK: 'Save' },
  cs: { Smazat: 'Odebrat', Odstranit: 'Odebrat', Provést: 'Uložit', Potvrdit: 'Uložit', OK: 'Uložit' },
} as const;

test.each(['en', 'cs'] as const)('texts in %s begin with one verb for each thing that a button does', (language) => {
  const files = globSync(`**/${language}.ts`, { cwd: SOURCE });
  expect(files.length).toBeGreaterThan(15);
  // A text begins behind a quote, of either kind.
  const begins = new RegExp(`['"\`](${Object.keys(OTHERS[language]).join('|')})(?![\\p{L}])`, 'u');
  const found = files.flatMap((file) => {
    const lines = readFileSync(join(SOURCE, file), 'utf8').split('\n');
    return lines.flatMap((line, at) => (begins.test(line) ? [`${file}:${at + 1}: ${line.trim()}`] : []));
  });
  expect(found).toEqual([]);
});
