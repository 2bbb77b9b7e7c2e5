/**
 * Renders a send for many recipients with as few renderings as possible. A template that only outputs members of `user` is rendered once
 * for each brand and language, with marks in the places of names and addresses, which are then replaced for each recipient. No
 * recipient's data enters another's text, and the outcome equals a rendering for each.
 */

import { randomBytes } from 'node:crypto';
import { certain } from '../base/certain.ts';
import { TimeSlicer } from '../base/time-slice.ts';
import { MEMBERS_OF_SPEECH } from './render/messages.ts';
import type {
  PrintedMembers,
  Rendered,
  Renderer,
  RenderJob,
  RenderOutcome,
  RenderWatch,
  TemplateSource,
  UserMember,
} from './render.ts';
import type { Reader } from './variables.ts';

/** The job for one recipient. */
export interface Personal {
  /** The job without `user`: one object for all recipients with the same job. */
  readonly shared: RenderJob;
  /** The variable `user`. */
  readonly user: Reader;
}

/** The text for one recipient, or the reason why it could not be rendered. */
export type PersonalOutcome = Wording | Extract<RenderOutcome, { ok: false }>;

/**
 * The rendered text for one recipient. It is built on each call, and should be built where it is written: a thousand recipients share
 * the common parts, and complete texts would survive two garbage collections and fill the heap of the thread that answers checks.
 */
export interface Wording {
  readonly ok: true;
  readonly subject: string;
  /** The size of `rendered()` as JSON in UTF-8, as it is stored. */
  readonly bytes: number;
  rendered(): Rendered;
  /** The text of the inbox item beside its subject, built without the other parts. */
  excerpt(): Excerpt;
}

/** The body of the push, else the text; and the URL. */
export interface Excerpt {
  readonly body: string;
  readonly url: string | null;
}

/** For fewer recipients the analysis of the templates costs more than it saves. */
const MIN_RECIPIENTS = 8;
/** A value that escaping, folding and the conversion from HTML to text do not change: words of letters with single spaces. */
const PLAIN = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}._@+-]| (?=[\p{L}\p{N}]))*(?<=[\p{L}\p{M}\p{N}.])$/u;
const MAX_PLAIN = 100;
/** Characters of a part with marks. Well below the limits of a rendering, which therefore cannot have cut it. */
const MAX_LINE = 300;
const MAX_LINE_MARKS = 2;
const MAX_BODY = 256 * 1024;
const MAX_BODY_MARKS = 500;
/** The same for the body of a push and for a URL. */
const MAX_SHORT = 4 * 1024;

/** The members of `user` passed to a rendering. */
type Given = Readonly<Partial<Record<UserMember, string | null>>>;

/** One rendering and its recipients. */
interface Group {
  readonly job: RenderJob;
  /** Indexes of its recipients. */
  readonly readers: number[];
  /** Its marks; null for the rendering of a single recipient. */
  readonly marks: ReadonlyMap<string, UserMember> | null;
}

/** The outcome for each recipient, in order. `lane` and `watch` are those of the renderer; rejects as it does. */
export async function renderEach(
  renderer: Pick<Renderer, 'printedMembers' | 'render'>,
  all: readonly Personal[],
  lane = '',
  watch: RenderWatch = {},
): Promise<PersonalOutcome[]> {
  const printed = await printedMembersOf(renderer, all, lane);
  // Marks are random, so no text of a template, payload or name is mistaken for one.
  const prefix = `Zq${randomBytes(12).toString('hex')}`;
  const groups = await groupsOf(all, printed, prefix);
  const rendered = await renderer.render(
    groups.map(({ job }) => job),
    lane,
    watch,
  );
  const outcomes: PersonalOutcome[] = [];
  const alone: number[] = [];
  const pieces = new TimeSlicer();
  for (const [index, { job, marks, readers }] of groups.entries()) {
    const outcome = certain(rendered[index]);
    const filler = marks === null || !outcome.ok ? null : fillerOf(outcome, marks, job.template, prefix);
    for (const at of readers) {
      await pieces.next();
      if (marks === null || !outcome.ok) outcomes[at] = ofOne(outcome);
      else if (filler === null) alone.push(at);
      else outcomes[at] = filler(certain(all[at]).user);
    }
  }
  const rest = await renderer.render(
    alone.map((at) => certain(all[at])).map(({ shared, user }) => jobFor(user, shared)),
    lane,
    watch,
  );
  for (const [index, at] of alone.entries()) outcomes[at] = ofOne(certain(rest[index]));
  return outcomes;
}

/** A text without marks. */
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

async function printedMembersOf(
  renderer: Pick<Renderer, 'printedMembers'>,
  all: readonly Personal[],
  lane: string,
): Promise<ReadonlyMap<TemplateSource, PrintedMembers>> {
  if (all.length < MIN_RECIPIENTS) return new Map();
  const templates = [...new Set(all.map(({ shared }) => shared.template))];
  const printed = templates.map(async (one) => [one, await renderer.printedMembers(one, lane)] as const);
  return new Map(await Promise.all(printed));
}

async function groupsOf(
  all: readonly Personal[],
  printed: ReadonlyMap<TemplateSource, PrintedMembers>,
  prefix: string,
): Promise<readonly Group[]> {
  const groups: Group[] = [];
  const known = new Map<RenderJob, Map<string, Group>>();
  const pieces = new TimeSlicer();
  for (const [at, { shared, user }] of all.entries()) {
    await pieces.next();
    const members = printed.get(shared.template) ?? null;
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

/** The given members of the user: a mark in place of a plain value, any other value as it is. */
function markedUser(user: Reader, members: readonly UserMember[], prefix: string) {
  const marks = new Map<string, UserMember>();
  const given: Partial<Record<UserMember, string | null>> = {};
  for (const member of members) {
    const value = user[member];
    if (MEMBERS_OF_SPEECH.includes(member) || value === null || value.length > MAX_PLAIN || !PLAIN.test(value)) {
      given[member] = value;
      continue;
    }
    const mark = `${prefix}${member}qZ`;
    marks.set(mark, member);
    given[member] = mark;
  }
  return { given, marks };
}

/** Returns a function that replaces the marks for a recipient; null if the result could differ from a rendering for them. */
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

/** Whether no limit can have cut the part, with marks or with values, and no mark is split. Every other piece is a mark. */
function fits(pieces: readonly string[], most: number, mostMarks: number, prefix: string): boolean {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (length > most || pieces.length > 2 * mostMarks + 1) return false;
  return pieces.every((piece, at) => at % 2 === 1 || !piece.includes(prefix));
}

/**
 * Whether a mark is in a tag, a link or a character reference, where the conversion to text depends on the value. Every other piece is a
 * mark. The HTML is untrusted, so one linear pass reads it; an unclosed construct extends to the end.
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
/** They match at most four characters. */
const LINK_BEGINS = /^<a(?:\W|$)/;
const LINK_ENDS = /^<\/a(?:[\s>])/;

/** `#`, letters, digits and `_`. */
function isOfReference(unit: number): boolean {
  if (unit >= 0x30 && unit <= 0x39) return true;
  const lower = unit | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || unit === 0x23 || unit === 0x5f;
}

/** A text with places for a recipient's values. */
class Filling {
  readonly #pieces: readonly string[];
  readonly #members: readonly (UserMember | undefined)[];

  constructor(pieces: readonly string[], marks: ReadonlyMap<string, UserMember>) {
    this.#pieces = pieces;
    this.#members = pieces.map((piece) => marks.get(piece));
  }

  /** The member of each place. */
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

/** How often each member occurs, and the bytes of the text common to all recipients. */
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

  /** Plain values need no escaping in JSON, so their sizes add up. */
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
