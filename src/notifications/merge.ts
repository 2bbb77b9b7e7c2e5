/**
 * Renders what a send says to many readers, as seldom as possible. Where a template only shows who its reader is, it is rendered once
 * for all of a brand and language, with marks in the places of names and addresses: no reader's data goes into what others get.
 * Then each reader's own are put in the places of the marks. The outcome is the same as if it were rendered for each.
 */

import { randomBytes } from 'node:crypto';
import { TimeSlicer } from '../base/time-slice.ts';
import type {
  Rendered,
  Renderer,
  RenderJob,
  RenderOutcome,
  RenderWatch,
  Shown,
  TemplateSource,
  UserMember,
} from './render.ts';
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
  /** The size of `rendered()` as JSON in UTF-8: what storing it takes. */
  readonly bytes: number;
  rendered(): Rendered;
  /** What an inbox shows beside the subject, put together without the rest. */
  excerpt(): Excerpt;
}

/** The body of the push, else the text; and where it leads. */
export interface Excerpt {
  readonly body: string;
  readonly url: string | null;
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
/** Of a push's body and of a URL. */
const MAX_SHORT = 4 * 1024;

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

/** The outcome for each, in their order; rejects as the renderer does, in whose `lane` it waits, under the same `watch`. */
export async function renderEach(
  renderer: Pick<Renderer, 'shown' | 'render'>,
  all: readonly Personal[],
  lane = '',
  watch: RenderWatch = {},
): Promise<PersonalOutcome[]> {
  const shown = await whatIsShown(renderer, all, lane);
  // Nothing that a template, a payload or a name holds is taken for a mark: they are other ones each time.
  const prefix = `Zq${randomBytes(12).toString('hex')}`;
  const groups = await groupsOf(all, shown, prefix);
  const rendered = await renderer.render(
    groups.map(({ job }) => job),
    lane,
    watch,
  );
  const outcomes: PersonalOutcome[] = [];
  const alone: number[] = [];
  const pieces = new TimeSlicer();
  for (const [index, { job, marks, readers }] of groups.entries()) {
    const outcome = rendered[index] as RenderOutcome;
    const filler = marks === null || !outcome.ok ? null : fillerOf(outcome, marks, job.template, prefix);
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
    watch,
  );
  for (const [index, at] of alone.entries()) outcomes[at] = ofOne(rest[index] as RenderOutcome);
  return outcomes;
}

/** Words in which nothing is left to be filled in. */
export function asRendered(rendered: Rendered, bytes: number = Buffer.byteLength(JSON.stringify(rendered))): Wording {
  const { subject, text, pushBody, url } = rendered;
  return { ok: true, subject, bytes, rendered: () => rendered, excerpt: () => ({ body: pushBody ?? text, url }) };
}

function ofOne(outcome: RenderOutcome): PersonalOutcome {
  return outcome.ok ? asRendered(outcome.rendered, outcome.bytes) : outcome;
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
  const pieces = new TimeSlicer();
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
  { rendered, bytes }: Extract<RenderOutcome, { ok: true }>,
  marks: ReadonlyMap<string, UserMember>,
  template: TemplateSource,
  prefix: string,
): ((user: Reader) => Wording) | null {
  if (marks.size === 0) {
    const same = asRendered(rendered, bytes);
    return () => same;
  }
  const pattern = new RegExp(`(${[...marks.keys()].join('|')})`);
  const { subject, html, text, pushTitle, pushBody, url } = rendered;
  if (![subject, pushTitle ?? ''].every((line) => fits(line.split(pattern), MAX_LINE, MAX_LINE_MARKS, prefix)))
    return null;
  if (![html, text].every((body) => fits(body.split(pattern), MAX_BODY, MAX_BODY_MARKS, prefix))) return null;
  const short = [pushBody ?? '', url ?? ''];
  if (!short.every((part) => fits(part.split(pattern), MAX_SHORT, MAX_BODY_MARKS, prefix))) return null;
  if (template.text === null && marksWhereTextLooks(html.split(pattern))) return null;
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
  const places = placesOf(Object.values(parts), marks, bytes);
  return (user) => new FilledWording(parts, places, user);
}

/** Whether no limit can have cut it, nor would if values stood there, and no mark is in pieces. Every other piece is a mark. */
function fits(pieces: readonly string[], most: number, mostMarks: number, prefix: string): boolean {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (length > most || pieces.length > 2 * mostMarks + 1) return false;
  return pieces.every((piece, at) => at % 2 === 1 || !piece.includes(prefix));
}

/**
 * Whether a mark is in a tag, a link or a character reference: there the way from HTML to text depends on what it says. Every other
 * piece is a mark. It is read once from its beginning to its end, since it is others who write it; what is not closed goes on to the end.
 */
export function marksWhereTextLooks(pieces: readonly string[]): boolean {
  let [inTag, inLink, inReference] = [false, false, false];
  for (const [at, piece] of pieces.entries()) {
    if (at % 2 === 1) {
      if (inTag || inLink || inReference) return true;
      continue;
    }
    for (let index = 0; index < piece.length; index++) {
      const unit = piece.charCodeAt(index);
      if (unit === AMPERSAND) inReference = true;
      else if (inReference && !isOfReference(unit)) inReference = false;
      if (unit === GREATER) inTag = false;
      if (unit !== LESS) continue;
      inTag = true;
      const begin = piece.slice(index, index + 4).toLowerCase();
      if (LINK_BEGINS.test(begin)) inLink = true;
      else if (LINK_ENDS.test(begin)) inLink = false;
    }
  }
  return false;
}

const [AMPERSAND, LESS, GREATER] = [0x26, 0x3c, 0x3e];
/** Four characters at most are looked at. */
const LINK_BEGINS = /^<a(?:\W|$)/;
const LINK_ENDS = /^<\/a(?:[\s>])/;

/** `#`, letters, digits and `_`. */
function isOfReference(unit: number): boolean {
  if (unit >= 0x30 && unit <= 0x39) return true;
  const lower = unit | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || unit === 0x23 || unit === 0x5f;
}

/** A text with places for what is a reader's own. */
class Filling {
  readonly #pieces: readonly string[];
  readonly #members: readonly (UserMember | undefined)[];

  constructor(pieces: readonly string[], marks: ReadonlyMap<string, UserMember>) {
    this.#pieces = pieces;
    this.#members = pieces.map((piece) => marks.get(piece));
  }

  /** The members that its places are for, one for each place. */
  get places(): readonly UserMember[] {
    return this.#members.filter((member) => member !== undefined);
  }

  for(user: Reader): string {
    return this.#pieces.map((piece, at) => this.#at(at, piece, user)).join('');
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

/** How often each member is filled in, and the bytes of all that is the same for every reader. */
interface Places {
  readonly often: ReadonlyMap<UserMember, number>;
  readonly bytes: number;
}

function placesOf(
  parts: readonly (Filling | null)[],
  marks: ReadonlyMap<string, UserMember>,
  withMarks: number,
): Places {
  const often = new Map<UserMember, number>();
  for (const part of parts) for (const member of part?.places ?? []) often.set(member, (often.get(member) ?? 0) + 1);
  const ofMarks = [...marks].reduce((sum, [mark, member]) => sum + mark.length * (often.get(member) ?? 0), 0);
  return { often, bytes: withMarks - ofMarks };
}

class FilledWording implements Wording {
  readonly #parts: Fillings;
  readonly #places: Places;
  readonly #user: Reader;
  readonly ok = true;

  constructor(parts: Fillings, places: Places, user: Reader) {
    this.#parts = parts;
    this.#places = places;
    this.#user = user;
  }

  get subject(): string {
    return this.#parts.subject.for(this.#user);
  }

  /** Nothing in a value that is filled in has to be escaped in JSON. */
  get bytes(): number {
    let { bytes } = this.#places;
    for (const [member, times] of this.#places.often) bytes += times * Buffer.byteLength(this.#user[member] ?? '');
    return bytes;
  }

  excerpt(): Excerpt {
    const { text, pushBody, url } = this.#parts;
    return { body: (pushBody ?? text).for(this.#user), url: url?.for(this.#user) ?? null };
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
