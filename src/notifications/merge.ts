/**
 * Renders what a send says to many readers, as seldom as possible. Where a template only shows who its reader is, it is rendered once
 * for all of a brand and language, with marks in the places of names and addresses: no reader's data goes into what others get.
 * Then each reader's own are put in the places of the marks. The outcome is the same as if it were rendered for each.
 */

import { randomBytes } from 'node:crypto';
import { Pieces } from '../pieces.ts';
import type { Rendered, Renderer, RenderJob, RenderOutcome, Shown, TemplateSource, UserMember } from './render.ts';
import type { Reader } from './variables.ts';

/** What is to be said to one reader. `job.variables` holds the reader as `user`. */
export interface Personal {
  readonly job: RenderJob;
  readonly user: Reader;
  /** What else the variables depend on: jobs of one template that agree in it differ by their readers only. */
  readonly look: string;
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
): Promise<RenderOutcome[]> {
  const shown = await whatIsShown(renderer, all, lane);
  // Nothing that a template, a payload or a name holds is taken for a mark: they are other ones each time.
  const prefix = `Zq${randomBytes(12).toString('hex')}`;
  const groups = await groupsOf(all, shown, prefix);
  const rendered = await renderer.render(
    groups.map(({ job }) => job),
    lane,
  );
  const outcomes: RenderOutcome[] = [];
  const alone: number[] = [];
  const pieces = new Pieces();
  for (const [index, { job, marks, readers }] of groups.entries()) {
    const outcome = rendered[index] as RenderOutcome;
    const filler = marks === null || !outcome.ok ? null : fillerOf(outcome.rendered, marks, job.template, prefix);
    for (const at of readers) {
      await pieces.next();
      if (marks === null || !outcome.ok) outcomes[at] = outcome;
      else if (filler === null) alone.push(at);
      else outcomes[at] = { ok: true, rendered: filler((all[at] as Personal).user) };
    }
  }
  const rest = await renderer.render(
    alone.map((at) => (all[at] as Personal).job),
    lane,
  );
  for (const [index, at] of alone.entries()) outcomes[at] = rest[index] as RenderOutcome;
  return outcomes;
}

async function whatIsShown(
  renderer: Pick<Renderer, 'shown'>,
  all: readonly Personal[],
  lane: string,
): Promise<ReadonlyMap<TemplateSource, Shown>> {
  if (all.length < WORTH_IT) return new Map();
  const templates = [...new Set(all.map(({ job }) => job.template))];
  return new Map(await Promise.all(templates.map(async (one) => [one, await renderer.shown(one, lane)] as const)));
}

async function groupsOf(
  all: readonly Personal[],
  shown: ReadonlyMap<TemplateSource, Shown>,
  prefix: string,
): Promise<readonly Group[]> {
  const groups: Group[] = [];
  const known = new Map<TemplateSource, Map<string, Group>>();
  const pieces = new Pieces();
  for (const [at, { job, user, look }] of all.entries()) {
    await pieces.next();
    const members = shown.get(job.template) ?? null;
    if (members === null) {
      groups.push({ job, readers: [at], marks: null });
      continue;
    }
    const { given, marks } = markedUser(user, members, prefix);
    const ofTemplate = known.get(job.template) ?? new Map<string, Group>();
    known.set(job.template, ofTemplate);
    const key = JSON.stringify([look, given]);
    let group = ofTemplate.get(key);
    if (group === undefined) {
      const variables = { ...job.variables, user: given };
      group = { job: { ...job, variables }, readers: [], marks };
      ofTemplate.set(key, group);
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
): ((user: Reader) => Rendered) | null {
  if (marks.size === 0) return () => rendered;
  const pattern = new RegExp(`(${[...marks.keys()].join('|')})`);
  const { subject, html, text, pushTitle, pushBody, url } = rendered;
  if (![subject, pushTitle ?? ''].every((line) => fits(line.split(pattern), MAX_LINE, MAX_LINE_MARKS, prefix)))
    return null;
  const bodies = [html, text, pushBody ?? '', url ?? ''];
  if (!bodies.every((body) => fits(body.split(pattern), MAX_BODY, MAX_BODY_MARKS, prefix))) return null;
  if (template.text === null && marksWhereTextLooks(html, prefix)) return null;
  const filled = (part: string) => filling(part.split(pattern), marks);
  const filledOrNull = (part: string | null) => (part === null ? () => null : filled(part));
  const [ofSubject, ofHtml, ofText] = [filled(subject), filled(html), filled(text)];
  const [ofTitle, ofBody, ofUrl] = [filledOrNull(pushTitle), filledOrNull(pushBody), filledOrNull(url)];
  return (user) => ({
    subject: ofSubject(user),
    html: ofHtml(user),
    text: ofText(user),
    pushTitle: ofTitle(user),
    pushBody: ofBody(user),
    url: ofUrl(user),
  });
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

function filling(pieces: readonly string[], marks: ReadonlyMap<string, UserMember>): (user: Reader) => string {
  const [only = ''] = pieces;
  if (pieces.length === 1) return () => only;
  const members = pieces.map((piece) => marks.get(piece));
  return (user) => {
    const written = pieces.map((piece, at) => {
      const member = members[at];
      return member === undefined ? piece : user[member];
    });
    return written.join('');
  };
}
