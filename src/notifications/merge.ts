/**
 * Renders what a send says to many readers, as seldom as possible. Where a template only shows who its reader is, it is rendered once
 * for all of a brand and language, with marks in the places of names and addresses: no reader's data goes into what others get.
 * Then each reader's own are put in the places of the marks. The outcome is the same as if it were rendered for each.
 */

import { randomBytes } from 'node:crypto';
import { Pieces } from '../pieces.ts';
import type { Rendered, Renderer, RenderJob, RenderOutcome, Shown, TemplateSource, UserMember } from './render.ts';
import type { Reader } from './variables.ts';

/** What is to be said to one reader. */
export interface Personal {
  /** All but the reader: one object for all readers that it is the same for. */
  readonly shared: RenderJob;
  /** The variable `user`. */
  readonly user: Reader;
}

/** What is said to one reader, or why it cannot be. */
export type PersonalOutcome = Wording | Extract<RenderOutcome, { ok: false }>;

/**
 * The words for one reader. They are put together each time that they are asked for, and are best asked for where they are written:
 * a thousand readers share what they have in common, and their texts would outlive two collections of garbage, and fill the heap of
 * whoever answers checks.
 */
export interface Wording {
  readonly ok: true;
  readonly subject: string;
  /** Characters of HTML and text. */
  readonly size: number;
  rendered(): Rendered;
}

/** For fewer it is not worth asking what a template shows. */
const WORTH_IT = 8;
/** A value that escaping, folding and the way from HTML to text leave as it is: words of letters with single spaces. */
const PLAIN = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}._@+-]| (?=[\p{L}\p{N}]))*(?<=[\p{L}\p{M}\p{N}.])$/u;
const MAX_PLAIN = 100;
/** Characters of what is filled in. Well below the limits of a rendering, so that none of them would have cut it. */
const MAX_LINE = 300;
const MAX_LINE_MARKS = 2;
const MAX_BODY = 256 * 1024;
const MAX_BODY_MARKS = 500;

/** Of a reader, what is given to a rendering. */
type Given = Readonly<Partial<Record<UserMember, string | null>>>;

/** One rendering, and whom it is for. */
interface Group {
  readonly job: RenderJob;
  /** Positions of its readers. */
  readonly readers: number[];
  /** The marks in it; null for a reader of its own. */
  readonly marks: ReadonlyMap<string, UserMember> | null;
}

/** The outcome for each, in their order; rejects as the renderer does, in whose `lane` it waits. */
export async function renderEach(
  renderer: Pick<Renderer, 'shown' | 'render'>,
  all: readonly Personal[],
  lane = '',
): Promise<PersonalOutcome[]> {
  const shown = await whatIsShown(renderer, all, lane);
  // Nothing that a template, a payload or a name holds is taken for a mark: they are other ones each time.
  const prefix = `Zq${randomBytes(12).toString('hex')}`;
  const groups = await groupsOf(all, shown, prefix);
  const rendered = await renderer.render(
    groups.map(({ job }) => job),
    lane,
  );
  const outcomes: PersonalOutcome[] = [];
  const alone: number[] = [];
  const pieces = new Pieces();
  for (const [index, { job, marks, readers }] of groups.entries()) {
    const outcome = rendered[index] as RenderOutcome;
    const filler = marks === null || !outcome.ok ? null : fillerOf(outcome.rendered, marks, job.template, prefix);
    for (const at of readers) {
      await pieces.next();
      if (marks === null || !outcome.ok) outcomes[at] = ofOne(outcome);
      else if (filler === null) alone.push(at);
      else outcomes[at] = filler((all[at] as Personal).user);
    }
  }
  const rest = await renderer.render(
    alone.map((at) => all[at] as Personal).map(({ shared, user }) => jobFor(user, shared)),
    lane,
  );
  for (const [index, at] of alone.entries()) outcomes[at] = ofOne(rest[index] as RenderOutcome);
  return outcomes;
}

/** Words in which nothing is left to be filled in. */
export function asRendered(rendered: Rendered): Wording {
  const { subject, html, text } = rendered;
  return { ok: true, subject, size: html.length + text.length, rendered: () => rendered };
}

function ofOne(outcome: RenderOutcome): PersonalOutcome {
  return outcome.ok ? asRendered(outcome.rendered) : outcome;
}

function jobFor(user: Given, shared: RenderJob): RenderJob {
  return { ...shared, variables: { ...shared.variables, user } };
}

async function whatIsShown(
  renderer: Pick<Renderer, 'shown'>,
  all: readonly Personal[],
  lane: string,
): Promise<ReadonlyMap<TemplateSource, Shown>> {
  if (all.length < WORTH_IT) return new Map();
  const templates = [...new Set(all.map(({ shared }) => shared.template))];
  return new Map(await Promise.all(templates.map(async (one) => [one, await renderer.shown(one, lane)] as const)));
}

async function groupsOf(
  all: readonly Personal[],
  shown: ReadonlyMap<TemplateSource, Shown>,
  prefix: string,
): Promise<readonly Group[]> {
  const groups: Group[] = [];
  const known = new Map<RenderJob, Map<string, Group>>();
  const pieces = new Pieces();
  for (const [at, { shared, user }] of all.entries()) {
    await pieces.next();
    const members = shown.get(shared.template) ?? null;
    if (members === null) {
      groups.push({ job: jobFor(user, shared), readers: [at], marks: null });
      continue;
    }
    const { given, marks } = markedUser(user, members, prefix);
    const alike = known.get(shared) ?? new Map<string, Group>();
    known.set(shared, alike);
    const key = JSON.stringify(given);
    let group = alike.get(key);
    if (group === undefined) {
      group = { job: jobFor(given, shared), readers: [], marks };
      alike.set(key, group);
      groups.push(group);
    }
    group.readers.push(at);
  }
  return groups;
}

/** Of the reader, what is shown: as a mark where the value is plain, else as it is. The rest is left out. */
function markedUser(user: Reader, members: readonly UserMember[], prefix: string) {
  const marks = new Map<string, UserMember>();
  const given: Partial<Record<UserMember, string | null>> = {};
  for (const member of members) {
    const value = user[member];
    if (member === 'locale' || value === null || value.length > MAX_PLAIN || !PLAIN.test(value)) {
      given[member] = value;
      continue;
    }
    const mark = `${prefix}${member}qZ`;
    marks.set(mark, member);
    given[member] = mark;
  }
  return { given, marks };
}

/** Makes of a rendering with marks that of a reader; null where that could come out otherwise than by rendering it. */
function fillerOf(
  rendered: Rendered,
  marks: ReadonlyMap<string, UserMember>,
  template: TemplateSource,
  prefix: string,
): ((user: Reader) => Wording) | null {
  if (marks.size === 0) {
    const same = asRendered(rendered);
    return () => same;
  }
  const pattern = new RegExp(`(${[...marks.keys()].join('|')})`);
  const { subject, html, text, pushTitle, pushBody, url } = rendered;
  if (![subject, pushTitle ?? ''].every((line) => fits(line.split(pattern), MAX_LINE, MAX_LINE_MARKS, prefix)))
    return null;
  const bodies = [html, text, pushBody ?? '', url ?? ''];
  if (!bodies.every((body) => fits(body.split(pattern), MAX_BODY, MAX_BODY_MARKS, prefix))) return null;
  if (template.text === null && marksWhereTextLooks(html, prefix)) return null;
  const filled = (part: string): Filling => new Filling(part.split(pattern), marks);
  const filledOrNull = (part: string | null): Filling | null => (part === null ? null : filled(part));
  const parts: Fillings = {
    subject: filled(subject),
    html: filled(html),
    text: filled(text),
    pushTitle: filledOrNull(pushTitle),
    pushBody: filledOrNull(pushBody),
    url: filledOrNull(url),
  };
  return (user) => new FilledWording(parts, user);
}

/** Whether no limit can have cut it, nor would if values stood there, and no mark is in pieces. Every other piece is a mark. */
function fits(pieces: readonly string[], most: number, mostMarks: number, prefix: string): boolean {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (length > most || pieces.length > 2 * mostMarks + 1) return false;
  return pieces.every((piece, at) => at % 2 === 1 || !piece.includes(prefix));
}

/** Whether a mark is in a tag, a link or a character reference: there the way from HTML to text depends on what it says. */
function marksWhereTextLooks(html: string, prefix: string): boolean {
  const places = html.match(/<a\b[\s\S]*?<\/a\s*>|<[^>]*>|&[#\w]*/gi) ?? [];
  return places.some((place) => place.includes(prefix));
}

/** A text with places for what is a reader's own. */
class Filling {
  readonly #pieces: readonly string[];
  readonly #members: readonly (UserMember | undefined)[];

  constructor(pieces: readonly string[], marks: ReadonlyMap<string, UserMember>) {
    this.#pieces = pieces;
    this.#members = pieces.map((piece) => marks.get(piece));
  }

  for(user: Reader): string {
    return this.#pieces.map((piece, at) => this.#at(at, piece, user)).join('');
  }

  /** Characters of that. */
  size(user: Reader): number {
    return this.#pieces.reduce((sum, piece, at) => sum + this.#at(at, piece, user).length, 0);
  }

  #at(at: number, piece: string, user: Reader): string {
    const member = this.#members[at];
    return member === undefined ? piece : (user[member] ?? '');
  }
}

interface Fillings {
  readonly subject: Filling;
  readonly html: Filling;
  readonly text: Filling;
  readonly pushTitle: Filling | null;
  readonly pushBody: Filling | null;
  readonly url: Filling | null;
}

class FilledWording implements Wording {
  readonly #parts: Fillings;
  readonly #user: Reader;
  readonly ok = true;

  constructor(parts: Fillings, user: Reader) {
    this.#parts = parts;
    this.#user = user;
  }

  get subject(): string {
    return this.#parts.subject.for(this.#user);
  }

  get size(): number {
    return this.#parts.html.size(this.#user) + this.#parts.text.size(this.#user);
  }

  rendered(): Rendered {
    const { subject, html, text, pushTitle, pushBody, url } = this.#parts;
    const user = this.#user;
    return {
      subject: subject.for(user),
      html: html.for(user),
      text: text.for(user),
      pushTitle: pushTitle?.for(user) ?? null,
      pushBody: pushBody?.for(user) ?? null,
      url: url?.for(user) ?? null,
    };
  }
}
