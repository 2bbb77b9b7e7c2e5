/** The registry of languages: which may be the fallback of which, and the chain that a text is looked for in. */

import type { Item } from '../../../../src/gen/api.ts';

export type LanguageRecord = Item<'GET /api/languages'>;

/** Languages that may be the fallback of this one: not itself, and none that would lead back to it. */
export function fallbacksOf(code: string, all: readonly LanguageRecord[]): readonly LanguageRecord[] {
  return all.filter((one) => one.code !== code && !chainOf(one.code, all).includes(code));
}

/** The language and those that are tried after it. */
export function chainOf(code: string, all: readonly LanguageRecord[]): readonly string[] {
  const chain = [code];
  for (;;) {
    const next = all.find((one) => one.code === chain.at(-1))?.fallback;
    if (next === null || next === undefined || chain.includes(next)) return chain;
    chain.push(next);
  }
}
