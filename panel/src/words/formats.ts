/** Numbers and times as the reader's language writes them. */

export interface Formats {
  readonly number: (value: number) => string;
  /** Day and time. */
  readonly moment: (iso: string) => string;
  readonly day: (iso: string) => string;
  readonly time: (iso: string) => string;
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

export function formatsOf(locale: string): Formats {
  const number = new Intl.NumberFormat(locale);
  const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
  const day = new Intl.DateTimeFormat(locale, { dateStyle: 'full' });
  const time = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' });
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  return {
    number: (value) => number.format(value),
    moment: (iso) => moment.format(new Date(iso)),
    day: (iso) => day.format(new Date(iso)),
    time: (iso) => time.format(new Date(iso)),
    ago: (iso, now = Date.now()) => {
      const seconds = Math.round((Date.parse(iso) - now) / 1000);
      const [unit, length] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? ['second', 1];
      return relative.format(Math.round(seconds / length), unit as Intl.RelativeTimeFormatUnit);
    },
  };
}
