/** Which language a mail is written in. (Specification, "Registration locale".) */

/**
 * The variant for a locale: the exact one, then the registry's chain of fallbacks, then any other: `en` first, then by code.
 * Null when there is none at all. `fallbacks` is the registry: each code with the one it falls back to.
 */
export function chooseVariant<T extends { locale: string }>(
  locale: string,
  variants: readonly T[],
  fallbacks: ReadonlyMap<string, string | null>,
): T | null {
  const seen = new Set<string>();
  for (let code: string | null = locale; code !== null && !seen.has(code); code = fallbacks.get(code) ?? null) {
    seen.add(code);
    const found = variants.find((variant) => variant.locale === code);
    if (found !== undefined) return found;
  }
  const english = variants.find((variant) => variant.locale === 'en');
  return english ?? variants.toSorted((a, b) => (a.locale < b.locale ? -1 : 1))[0] ?? null;
}
