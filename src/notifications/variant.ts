/** Chooses the language of a notification or auth mail (docs/reference/notifications.md#choice-of-a-variant). */

import { SYSTEM_LANGUAGE } from '../base/grammar.ts';

/**
 * The variant for a reader of `locale`: the same language, else the first of the registry's fallbacks, else `en`, else the first by
 * code; undefined without variants.
 */
export function chooseVariant<T extends { readonly locale: string }>(
  variants: readonly T[],
  locale: string,
  fallbacks: ReadonlyMap<string, string | null>,
): T | undefined {
  const byLocale = new Map(variants.map((variant) => [variant.locale, variant]));
  const seen = new Set<string>();
  // The registry refuses cycles of fallbacks; `seen` only guarantees an end.
  for (let code: string | null = locale; code !== null && !seen.has(code); code = fallbacks.get(code) ?? null) {
    const found = byLocale.get(code);
    if (found !== undefined) return found;
    seen.add(code);
  }
  const first = [...byLocale.keys()].sort()[0];
  return byLocale.get(SYSTEM_LANGUAGE) ?? (first === undefined ? undefined : byLocale.get(first));
}
