/**
 * Parses and renders Liquid in a rendering process. The library's limits are only the first line of defense: they have been bypassed
 * often, so this code never runs in the service's own process.
 */

import { compile, type FormatCallback } from 'html-to-text';
import { Context, Liquid, type LiquidOptions, type Template } from 'liquidjs';
import { recordOf } from '../../base/channels.ts';
import { positionOf, sentence, syntaxFaults } from './faults.ts';
import { escapeOutput, registerDates, registerEscaping } from './filters.ts';
import {
  type Rendered,
  type RenderJob,
  type RenderOutcome,
  TEMPLATE_FIELDS,
  type TemplateFault,
  type TemplateField,
  type TemplateSource,
} from './messages.ts';

/** The longest rendered part, in UTF-16 units. */
const MAX_OUTPUT = 1024 * 1024;
const MAX_SUBJECT = 500;
/** The longest body of a push; more than a push can carry, so no visible text is cut. */
const MAX_PUSH_BODY = 32 * 1024;
/** Longer URLs are dropped: no notification may have one. */
const MAX_URL = 8 * 1024;
/** Milliseconds of processor time for one part. The library's limit counts elapsed time, which passes faster on a busy machine. */
const PART_CPU_MS = 200;

const OPTIONS: LiquidOptions = {
  ownPropertyOnly: true,
  dynamicPartials: false,
  relativeReference: false,
  templates: {},
  strictFilters: true,
  strictVariables: false,
  parseLimit: 2_000_000,
  memoryLimit: 8_000_000,
};

/** The tags that would read another template. */
const PARTIALS = ['include', 'render', 'layout', 'block'];

function engine(options: LiquidOptions): Liquid {
  const liquid = new Liquid({ ...OPTIONS, ...options });
  for (const tag of PARTIALS) delete liquid.tags[tag];
  registerDates(liquid);
  return liquid;
}

const html = engine({ outputEscape: escapeOutput });
registerEscaping(html);
const plain = engine({});

function engineOf(field: TemplateField): Liquid {
  return field === 'html' ? html : plain;
}

/** Cells of a row stand beside each other, as layout tables read. */
const cell: FormatCallback = (element, walk, builder) => {
  builder.addInline(' ');
  walk(element.children, builder);
  builder.addInline(' ');
};
const LINE = { leadingLineBreaks: 1, trailingLineBreaks: 1 };

const toText = compile({
  formatters: { cell },
  wordwrap: false,
  limits: { maxInputLength: MAX_OUTPUT, maxDepth: 64, maxChildNodes: 10_000, ellipsis: '…' },
  selectors: [
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, noAnchorUrl: true } },
    { selector: 'img', format: 'skip' },
    ...['td', 'th'].map((selector) => ({ selector, format: 'cell' })),
    ...['tr', 'caption', 'dt', 'dd'].map((selector) => ({ selector, format: 'block', options: LINE })),
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
});

/** The syntax errors of each part. */
export function check(template: TemplateSource): TemplateFault[] {
  return TEMPLATE_FIELDS.flatMap((field) => {
    const source = template[field];
    if (source === null) return [];
    const faults = syntaxFaults(engineOf(field), source);
    return faults.map(({ at, message }) => ({ field, ...positionOf(source, at), message }));
  });
}

interface LiquidFault {
  message?: string;
  token?: { getPosition?: () => [number, number] };
}

function faultOf(field: TemplateField, error: unknown): TemplateFault {
  const { message, token } = error as LiquidFault;
  const [line, column] = token?.getPosition?.() ?? [1, 1];
  return { field, line, column, message: sentence(message) };
}

/** The parts of a template, parsed. */
export type Compiled = { readonly [Field in TemplateField]: Template[] | null };

/** A cache of parsed templates: most batches have one, and mostly the same. */
export class Compiler {
  readonly #kept = new Map<string, Compiled>();

  compiled(template: TemplateSource): Compiled {
    const key = JSON.stringify(TEMPLATE_FIELDS.map((field) => template[field]));
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const parse = (field: TemplateField): Template[] | null => {
      const source = template[field];
      return source === null ? null : engineOf(field).parse(source);
    };
    const made = recordOf(TEMPLATE_FIELDS, parse);
    if (this.#kept.size >= 16) this.#kept.clear();
    this.#kept.set(key, made);
    return made;
  }
}

/** Renders the jobs of one batch; `timezone` is that of readers without their own. A failed template is not tried again: it may have used all its time. */
export function renderer(compiler: Compiler, timezone: string): (job: RenderJob) => RenderOutcome {
  const known = new Map<TemplateSource, Compiled>();
  const failed = new Map<TemplateSource, RenderOutcome>();
  return (job) => {
    const outcome = failed.get(job.template) ?? renderOne(compiler, known, job, timezone);
    if (!outcome.ok) failed.set(job.template, outcome);
    return outcome;
  };
}

/** `known` saves lookups in the compiler's cache, whose keys are as long as the templates. */
function renderOne(
  compiler: Compiler,
  known: Map<TemplateSource, Compiled>,
  job: RenderJob,
  timezone: string,
): RenderOutcome {
  let field: TemplateField = 'subject';
  try {
    let compiled = known.get(job.template);
    if (compiled === undefined) {
      compiled = compiler.compiled(job.template);
      known.set(job.template, compiled);
    }
    const scope = { ...job.payload, payload: job.payload ?? {}, ...job.variables };
    const speech = speechOf(job.variables, timezone);
    const part = (name: TemplateField): string | null => {
      field = name;
      const parsed = compiled[name];
      if (parsed === null) return null;
      const output: unknown = engineOf(name).renderSync(parsed, contextOf(engineOf(name), scope, speech));
      if (typeof output !== 'string' || output.length > MAX_OUTPUT) throw new Error('it renders to more than 1 MiB');
      // Filters can cut a surrogate pair in two, which the database would refuse, as it refuses NUL.
      return output.toWellFormed().replaceAll('\0', '');
    };
    const rendered = assemble(part);
    return { ok: true, rendered, bytes: Buffer.byteLength(JSON.stringify(rendered)) };
  } catch (error) {
    const { line, column, message } = faultOf(field, error);
    return { ok: false, problem: `${field}, line ${line}, column ${column}: ${message}` };
  }
}

/** How dates are written. */
interface Speech {
  readonly locale: string;
  readonly timezone: string;
}

/** The language of the message, and the time zone of its reader. */
function speechOf(variables: RenderJob['variables'], timezone: string): Speech {
  const { locale, user } = variables as { locale?: unknown; user?: { timezone?: unknown } | null };
  return { locale: usable(locale, isLocale) ?? 'en', timezone: usable(user?.timezone, isTimeZone) ?? timezone };
}

/** The text where it is one that `Intl` takes. */
function usable(value: unknown, is: (text: string) => boolean): string | null {
  return typeof value === 'string' && value !== '' && is(value) ? value : null;
}

const isLocale = remembered((locale) => void Intl.getCanonicalLocales(locale));
const isTimeZone = remembered((timeZone) => void new Intl.DateTimeFormat('en', { timeZone }));

/** Whether the text is taken, asked once for each: a send has few languages and time zones. */
function remembered(take: (text: string) => void): (text: string) => boolean {
  const known = new Map<string, boolean>();
  return (text) => {
    let taken = known.get(text);
    if (taken !== undefined) return taken;
    try {
      take(text);
      taken = true;
    } catch {
      taken = false;
    }
    if (known.size < 1000) known.set(text, taken);
    return taken;
  };
}

/** A context that throws when the rendering has used its processor time. */
function contextOf(liquid: Liquid, scope: object, { locale, timezone }: Speech): Context {
  const before = process.threadCpuUsage();
  // The library passes the time before each node. Processor time is read only once as much time has elapsed.
  let earliest = performance.now() + PART_CPU_MS;
  const limiter = {
    use: () => undefined,
    check: (now: number) => {
      if (now < earliest) return;
      const { user, system } = process.threadCpuUsage(before);
      const leftMs = PART_CPU_MS - (user + system) / 1000;
      if (leftMs <= 0) throw new Error('template render limit exceeded');
      earliest = now + leftMs;
    },
  };
  // A context accepts a limiter, but its class is not exported, and its type has private fields.
  const renderLimit = limiter as unknown as Context['renderLimit'];
  const options = { ...liquid.options, locale, timezoneOffset: timezone };
  return new Context(scope, options, { sync: true }, { liquid, renderLimit });
}

function assemble(part: (name: TemplateField) => string | null): Rendered {
  const body = part('html') ?? '';
  const push = part('pushBody')?.trim() ?? null;
  const url = part('url')?.trim() ?? null;
  const line = (name: TemplateField): string | null => {
    const text = part(name);
    return text === null ? null : oneLine(text);
  };
  return {
    subject: oneLine(part('subject') ?? ''),
    html: body,
    text: part('text') ?? textOf(body),
    pushTitle: line('pushTitle'),
    pushBody: push === null ? null : push.slice(0, MAX_PUSH_BODY).toWellFormed(),
    url: url === null || url.length > MAX_URL ? null : url,
  };
}

/** The limit is checked again: rules and nested lists make the text many times as long as its HTML. */
function textOf(body: string): string {
  const text = toText(body);
  if (text.length > MAX_OUTPUT) throw new Error('the text made from the HTML is longer than 1 MiB');
  return text;
}

/** One line without control characters, fit for a header; a long one is cut. */
function oneLine(text: string): string {
  const flat = text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
  return flat.length <= MAX_SUBJECT ? flat : `${flat.slice(0, MAX_SUBJECT - 1).toWellFormed()}…`;
}
