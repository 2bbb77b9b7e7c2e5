/** Which template is used in which language, and which variables a template names. */

interface Language {
  readonly code: string;
  readonly fallback: string | null;
}

/**
 * The language of the template that is sent for a language: its own, then the registry's chain of fallbacks, then what is left,
 * English first. Null where there is no template at all (docs/reference/notifications.md#choice-of-a-variant).
 */
export function variantOf(locale: string, written: ReadonlySet<string>, languages: readonly Language[]): string | null {
  const fallbacks = new Map(languages.map(({ code, fallback }) => [code, fallback]));
  const seen = new Set<string>();
  for (let at: string | null = locale; at !== null && !seen.has(at); at = fallbacks.get(at) ?? null) {
    if (written.has(at)) return at;
    seen.add(at);
  }
  return written.has('en') ? 'en' : ([...written].sort()[0] ?? null);
}

/** Given by the service, whatever the payload says. */
const GIVEN = new Set([
  'user',
  'app',
  'brand',
  'locale',
  'payload',
  'forloop',
  'true',
  'false',
  'nil',
  'empty',
  'blank',
]);
const OUTPUT = /\{\{-?\s*([A-Za-z_][\w.-]*)/g;
const TAG = /\{%-?\s*(if|unless|elsif|case|for|tablerow|assign|capture)\s+([^%]*?)-?%\}/g;

/** The members of the payload that a template uses, such as `order.id`, each once in the order of the text. */
export function variablesIn(texts: readonly string[]): string[] {
  const names = new Set<string>();
  const own = new Set<string>();
  for (const text of texts) {
    for (const [, tag = '', rest = ''] of text.matchAll(TAG)) {
      const [, local, source] = /^([\w-]+)\s*(?:in|=)\s*([A-Za-z_][\w.-]*)?/.exec(rest) ?? [];
      if (['for', 'tablerow', 'assign', 'capture'].includes(tag)) {
        own.add(local ?? rest.trim());
        if (source !== undefined) names.add(source);
      } else {
        const condition = rest.replaceAll(/'[^']*'|"[^"]*"/g, ' ');
        for (const [name] of condition.matchAll(/(?<![\w.-])[A-Za-z_][\w.-]*/g)) {
          if (!['and', 'or', 'contains', 'not'].includes(name)) names.add(name);
        }
      }
    }
    for (const [, name = ''] of text.matchAll(OUTPUT)) names.add(name);
  }
  return [...names]
    .map((name) => name.replace(/^payload\./, ''))
    .filter((name, at, all) => {
      const first = name.split('.')[0] ?? '';
      return !GIVEN.has(first) && !own.has(first) && all.indexOf(name) === at;
    });
}

/** A payload with a word for each variable. */
export function sampleOf(variables: readonly string[]): Record<string, unknown> {
  const sample: Record<string, unknown> = {};
  for (const variable of variables) {
    const path = variable.split('.');
    let at = sample;
    for (const step of path.slice(0, -1)) {
      const inner = at[step];
      at[step] = typeof inner === 'object' && inner !== null ? inner : {};
      at = at[step] as Record<string, unknown>;
    }
    const last = path.at(-1) ?? variable;
    at[last] ??= last;
  }
  return sample;
}

/** The variables that a payload lacks. */
export function missingIn(payload: unknown, variables: readonly string[]): string[] {
  return variables.filter((variable) => {
    let at: unknown = payload;
    for (const step of variable.split('.')) {
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return true;
      at = (at as Record<string, unknown>)[step];
    }
    return false;
  });
}

/** An object out of JSON; null for anything else. An empty text is an empty object. */
export function objectIn(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
