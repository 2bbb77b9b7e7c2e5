import { readFileSync, writeFileSync } from 'node:fs';
import { MUTANTS } from './mutants.ts';
import type { Verdict } from './verdict.ts';

const BEGIN = '<!-- mutants -->';
const END = '<!-- /mutants -->';

/** Writes those rows between the marks of the list; mutants that were not tried keep theirs, and mutants that are gone lose them. */
export function writeTable(path: string, outcomes: ReadonlyMap<string, Verdict>): void {
  const text = readFileSync(path, 'utf8');
  const [before = '', rest = ''] = text.split(BEGIN);
  const [old = '', after = ''] = rest.split(END);
  const rows = new Map(old.split('\n').map((line) => [line.split(' | ')[0]?.slice(2), line]));
  for (const { name, file } of MUTANTS) {
    const verdict = outcomes.get(name);
    if (verdict === undefined) continue;
    const [first] = verdict.by;
    const noticed = verdict.kind === 'killed' && first !== undefined;
    const by = noticed ? `\`${first.slice(0, first.indexOf(': '))}.test.ts\`` : `**${verdict.kind}**`;
    rows.set(name, `| ${name} | \`${file}\` | ${by} |`);
  }
  const listed = MUTANTS.flatMap(({ name }) => rows.get(name) ?? []);
  const head = '| mistake | in `src/` | noticed by, for example |\n|---|---|---|';
  writeFileSync(path, `${before}${BEGIN}\n${head}\n${listed.join('\n')}\n${END}${after}`);
}
