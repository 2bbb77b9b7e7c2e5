/** Changes of a draft as sentences, role after role. */

import { byText } from '../by-text.ts';
import type { CellChange } from './draft.ts';
import type { CellLevel, MatrixTable } from './table.ts';

interface SentenceWords {
  readonly gives: (permission: string, level: string) => string;
  readonly changesLevel: (permission: string, from: string, to: string) => string;
  readonly takes: (permission: string, from: string) => string;
}

interface RoleSentences {
  readonly role: string;
  readonly holders: number;
  readonly sentences: readonly string[];
}

/** By the code of the role, then of the permission. */
export function sentencesOf(
  changes: Iterable<CellChange>,
  table: MatrixTable,
  words: SentenceWords,
  levels: Readonly<Record<Exclude<CellLevel, null>, string>>,
): RoleSentences[] {
  const byRole = new Map<number, [code: string, sentence: string][]>();
  for (const { roleId, permissionId, from, to } of changes) {
    const code = table.permissionOf.get(permissionId)?.code ?? String(permissionId);
    const sentence = sentenceOf(code, from, to, words, levels);
    const said = byRole.get(roleId);
    if (said === undefined) byRole.set(roleId, [[code, sentence]]);
    else said.push([code, sentence]);
  }
  return [...byRole]
    .map(([roleId, said]) => {
      const role = table.roleOf.get(roleId);
      const sentences = said.sort(([a], [b]) => byText(a, b)).map(([, sentence]) => sentence);
      return { role: role?.code ?? String(roleId), holders: role?.holders ?? 0, sentences };
    })
    .sort((a, b) => byText(a.role, b.role));
}

function sentenceOf(
  code: string,
  from: CellLevel,
  to: CellLevel,
  words: SentenceWords,
  levels: Readonly<Record<Exclude<CellLevel, null>, string>>,
): string {
  if (from === null) return to === null ? code : words.gives(code, levels[to]);
  return to === null ? words.takes(code, levels[from]) : words.changesLevel(code, levels[from], levels[to]);
}
