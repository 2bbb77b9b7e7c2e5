/** The configuration as a table of texts. */

interface ConfigValue {
  readonly key: string;
  readonly variable: string;
  readonly value: unknown;
  readonly source: string;
}

/** Texts as they are, nothing as a dash, everything else as JSON. */
export function configText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function isWanted(
  { key, variable, value, source }: ConfigValue,
  wanted: { readonly q: string; readonly source: string },
): boolean {
  const text = `${key}\n${variable}\n${configText(value)}`.toLowerCase();
  return text.includes(wanted.q.trim().toLowerCase()) && (wanted.source === '' || source === wanted.source);
}
