/** Times of filters: a day of the reader's calendar, or a moment as the service writes it. */

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The moment that a filter means: a day begins and ends by the reader's clock. Empty for what is no time. */
export function momentOf(text: string, side: 'start' | 'end'): string {
  const time = Date.parse(DAY.test(text) ? `${text}T${side === 'start' ? '00:00:00.000' : '23:59:59.999'}` : text);
  return Number.isNaN(time) ? '' : new Date(time).toISOString();
}

/** The day of a filter, as a field of dates takes it. */
export function dayAt(text: string): string {
  if (DAY.test(text)) return text;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return '';
  const pad = (value: number, length = 2) => String(value).padStart(length, '0');
  return `${pad(time.getFullYear(), 4)}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}`;
}
