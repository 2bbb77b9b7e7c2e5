/** Numbers and times as the reader's language writes them. */

export interface Formats {
  readonly number: (value: number) => string;
  /** Day and time. */
  readonly moment: (iso: string) => string;
  readonly day: (iso: string) => string;
  readonly time: (iso: string) => string;
  /** Day and time in a time zone, by its name in the tz database. */
  readonly zoned: (iso: string, zone: string) => string;
  /** "3 minutes ago" */
  readonly ago: (iso: string, now?: number) => string;
}

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

const made = new Map<string, Formats>();

/** The formats of a language. A browser takes some 10 ms to make each, so they are made at their first use and shared. */
export function formatsOf(locale: string): Formats {
  const known = made.get(locale);
  if (known !== undefined) return known;
  const number = once(() => new Intl.NumberFormat(locale));
  const moment = once(() => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }));
  const day = once(() => new Intl.DateTimeFormat(locale, { dateStyle: 'full' }));
  const time = once(() => new Intl.DateTimeFormat(locale, { timeStyle: 'medium' }));
  const relative = once(() => new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }));
  const formats: Formats = {
    number: (value) => number().format(value),
    moment: (iso) => moment().format(new Date(iso)),
    day: (iso) => day().format(new Date(iso)),
    time: (iso) => time().format(new Date(iso)),
    zoned: (iso, timeZone) =>
      new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(new Date(iso)),
    ago: (iso, now = Date.now()) => {
      const seconds = Math.round((Date.parse(iso) - now) / 1000);
      const [unit, length] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? ['second', 1];
      return relative().format(Math.round(seconds / length), unit as Intl.RelativeTimeFormatUnit);
    },
  };
  made.set(locale, formats);
  return formats;
}

function once<T>(make: () => T): () => T {
  let value: T | undefined;
  return () => {
    value ??= make();
    return value;
  };
}

/** Forms of a word by number, as Intl.PluralRules names them. */
type Forms = { readonly other: string } & { readonly [F in Intl.LDMLPluralRule]?: string };

export function plural(locale: string): (n: number, forms: Forms) => string {
  const rules = new Intl.PluralRules(locale);
  return (n, forms) => forms[rules.select(n)] ?? forms.other;
}
