/**
 * Filters of LiquidJS that this service changes (docs/reference/notifications.md#filters): those that escape know what is escaped in HTML
 * already, and dates speak the reader's language in their time zone.
 */

import {
  CaptureTag,
  type Context,
  Drop,
  type Emitter,
  type FilterImplOptions,
  filters,
  type Liquid,
  Tag,
  type TagToken,
  type TopLevelToken,
  toValue,
  Value,
} from 'liquidjs';

type Handler = Extract<FilterImplOptions, (...args: never[]) => unknown>;
type Self = ThisParameterType<Handler>;

/** The library's own filter of that name. */
function builtIn(name: string): Handler {
  const filter = (filters as Readonly<Record<string, FilterImplOptions>>)[name];
  if (typeof filter !== 'function') throw new Error(`liquidjs has no plain filter ${name}`);
  return filter;
}

/**
 * HTML that a filter made of a text, without markup but its own. Any other filter sees its text, and what that makes of it is escaped
 * again: a payload cannot hold one of these.
 */
class Escaped extends Drop {
  readonly #html: string;
  readonly size: number;
  readonly length: number;

  constructor(html: string) {
    super();
    this.#html = html;
    this.size = html.length;
    this.length = html.length;
  }

  override valueOf(): string {
    return this.#html;
  }

  override toString(): string {
    return this.#html;
  }

  toJSON(): string {
    return this.#html;
  }
}

/** What every output of an HTML part goes through; the value of the option `outputEscape`. */
export function escapeOutput(this: Self, value: unknown): string {
  return value instanceof Escaped ? value.valueOf() : (builtIn('escape').call(this, value) as string);
}

/** The filters whose result is HTML: what they are given is escaped first, unless one of them made it. */
const ESCAPING: Readonly<Record<string, (this: Self, value: unknown) => unknown>> = {
  escape: escapeOutput,
  xml_escape: escapeOutput,
  escape_once(value) {
    return value instanceof Escaped ? value.valueOf() : builtIn('escape_once').call(this, value);
  },
  newline_to_br(value) {
    return builtIn('newline_to_br').call(this, escapeOutput.call(this, value));
  },
  url_encode(value) {
    // The only character that it leaves and that ends an attribute.
    return String(builtIn('url_encode').call(this, toValue(value))).replaceAll("'", '%27');
  },
};

/** Writes what an output writes: the library's own takes the mark away before it escapes. */
class Echo extends Tag {
  readonly #value: Value | null;

  constructor(token: TagToken, remaining: TopLevelToken[], liquid: Liquid) {
    super(token, remaining, liquid);
    const { tokenizer } = token;
    tokenizer.skipBlank();
    this.#value = tokenizer.end() ? null : new Value(tokenizer.readFilteredValue(), liquid);
  }

  override *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    if (this.#value === null) return;
    const shown = yield this.#value.value(context, false);
    const { token, liquid } = this;
    const isRaw = this.#value.filters.at(-1)?.raw === true;
    // The library passes a tag's token, too, where its type asks for a filter's.
    const self = { context, token, liquid } as unknown as Self;
    emitter.write(isRaw ? toValue(shown) : escapeOutput.call(self, shown));
  }

  *arguments(): Generator<Value> {
    if (this.#value !== null) yield this.#value;
  }
}

/** What is captured is HTML: its outputs have been escaped. */
class Capture extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    const { liquid, templates, variable } = this;
    context.bottom()[variable] = new Escaped(yield liquid.renderer.renderTemplates(templates, context));
  }
}

/** For the engine of HTML parts. */
export function registerEscaping(liquid: Liquid): void {
  liquid.registerTag('echo', Echo);
  liquid.registerTag('capture', Capture);
  for (const [name, filter] of Object.entries(ESCAPING)) {
    liquid.registerFilter(name, function (this: Self, value: unknown) {
      return new Escaped(String(filter.call(this, value)));
    });
  }
  liquid.registerFilter('default', function (this: Self, value: unknown, ...args: unknown[]) {
    if (value instanceof Escaped && value.size > 0) return value;
    return builtIn('default').call(this, value, ...args);
  });
}

const DATES = ['date', 'date_to_xmlschema', 'date_to_rfc822', 'date_to_string', 'date_to_long_string'];
/** A day of the calendar, which is the same in every time zone. */
const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** A conversion of strftime: flags, width, modifier, letter. */
const CONVERSION = /%([-_0^#:]{0,8})(\d{0,9})([EO]?)([cxXB%])/g;
/** A day of the month: month names beside it have their other form in many languages. */
const DAY_OF_MONTH = /%[-_0^\d]{0,9}[de]/;

/** For every engine. The language and the time zone are options of the context. */
export function registerDates(liquid: Liquid): void {
  for (const name of DATES) {
    const handler = builtIn(name);
    liquid.registerFilter(name, function (this: Self, value: unknown, format?: unknown, zone?: unknown) {
      const self = typeof value === 'string' && DAY.test(value) ? inUtc(this) : this;
      if (name === 'date_to_long_string') {
        const text = longFormat(toValue(format), toValue(zone));
        return builtIn('date').call(self, value, localized(self, value, text, undefined));
      }
      if (name !== 'date') return handler.call(self, value, format, zone);
      const text = toValue(format) ?? self.context.opts.dateFormat;
      const local = typeof text === 'string' ? localized(self, value, text, zone) : text;
      return handler.call(self, value, local, zone);
    });
  }
}

/** As https://jekyllrb.com/docs/liquid/filters/ has it. */
function longFormat(type: unknown, style: unknown): string {
  if (type !== 'ordinal') return '%d %B %Y';
  return style === 'US' ? '%B %-d%q, %Y' : '%-d%q %B %Y';
}

/** The same filter in a context whose time zone is UTC. */
function inUtc(self: Self): Self {
  const opts = { ...self.context.opts, timezoneOffset: 0 };
  return { ...self, context: Object.create(self.context, { opts: { value: opts } }) as Self['context'] };
}

/** The format with `%c`, `%x`, `%X` and `%B` replaced by words of the language, where the library knows English ones or one form only. */
function localized(self: Self, value: unknown, format: string, zone: unknown): string {
  if (!/%[-_0^#:\dEO]{0,18}[cxXB]/.test(format)) return format;
  const written = builtIn('date').call(self, value, '%Y-%m-%dT%H:%M:%S', zone);
  const shown = new Date(`${written}Z`);
  if (typeof written !== 'string' || Number.isNaN(shown.getTime())) return format;
  const { locale } = self.context.opts;
  const withDay = DAY_OF_MONTH.test(format);
  return format.replace(CONVERSION, (whole, flags: string, _width, modifier: string, letter: string) => {
    const words = wordsOf(shown, locale, letter, withDay && modifier !== 'O');
    if (words === null) return whole;
    return (flags.includes('^') ? words.toLocaleUpperCase(locale) : words).replaceAll('%', '%%');
  });
}

function wordsOf(shown: Date, locale: string, letter: string, withDay: boolean): string | null {
  const timeZone = 'UTC';
  if (letter === 'c') return shown.toLocaleString(locale, { timeZone });
  if (letter === 'x') return shown.toLocaleDateString(locale, { timeZone });
  if (letter === 'X') return shown.toLocaleTimeString(locale, { timeZone });
  if (letter !== 'B') return null;
  const format = new Intl.DateTimeFormat(locale, { timeZone, month: 'long', ...(withDay ? { day: 'numeric' } : {}) });
  return format.formatToParts(shown).find(({ type }) => type === 'month')?.value ?? null;
}
