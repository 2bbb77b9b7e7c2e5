/** Which language a notification, or an auth mail, is in. (docs/reference/notifications.md#choice-of-a-variant.) */

import { SYSTEM_LANGUAGE } from '../base/grammar.ts';

/**
 * The variant for somebody who reads `locale`: exactly it, else along the registry's fallbacks, else `en`, else the first by
 * code; undefined when there is none at all.
 */
export function chooseVariant<T extends { readonly locale: string }>(
  variants: readonly T[],
  locale: string,
  fallbacks: ReadonlyMap<string, string | null>,
): T | undefined {
  const byLocale = new Map(variants.map((variant) => [variant.locale, variant]));
  const seen = new Set<string>();
  // A loop of fallbacks is refused where it is made; here it must only end.
  for (let code: string | null = locale; code !== null && !seen.has(code); code = fallbacks.get(code) ?? null) {
    const found = byLocale.get(code);
    if (found !== undefined) return found;
    seen.add(code);
  }
  const first = [...byLocale.keys()].sort()[0];
  return byLocale.get(SYSTEM_LANGUAGE) ?? (first === undefined ? undefined : byLocale.get(first));
}
