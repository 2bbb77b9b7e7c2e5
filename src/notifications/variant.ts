/** Which language a notification is in. (Contract 6, "Choice of variant".) */

/** What everything falls back to in the end: the system's language. */
export const SYSTEM_LANGUAGE = 'en';

/**
 * The variant for somebody who reads `locale`: exactly it, else along the registry's fallbacks, else `en`, else the first by
 * code; undefined when there is none at all.
 */
export function chooseVariant<T extends { readonly locale: string }>(
  variants: readonly T[],
  locale: string,
  fallbacks: ReadonlyMap<string, string>,
): T | undefined {
  const byLocale = new Map(variants.map((variant) => [variant.locale, variant]));
  const seen = new Set<string>();
  // A loop of fallbacks is refused where it is made; here it must only end.
  for (let code: string | undefined = locale; code !== undefined && !seen.has(code); code = fallbacks.get(code)) {
    const found = byLocale.get(code);
    if (found !== undefined) return found;
    seen.add(code);
  }
  const first = [...byLocale.keys()].sort()[0];
  return byLocale.get(SYSTEM_LANGUAGE) ?? (first === undefined ? undefined : byLocale.get(first));
}
