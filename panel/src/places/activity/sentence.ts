/** A record of the audit as one sentence that names everything it is about. */

import { type AuditRecord, actionOf, linkOf } from './changes.ts';

/** A piece of a sentence; with an address where the panel has a page of what it names. */
export interface Piece {
  /** Of its own within the sentence. */
  readonly key: string;
  readonly text: string;
  readonly href: string | null;
  /** Whether it names something: its letters run in their own direction. */
  readonly isName: boolean;
}

interface Words {
  readonly actions: Readonly<Record<string, string>>;
  readonly sentences: Readonly<Record<string, string>>;
  readonly inApplication: string;
}

type Told = Pick<AuditRecord, 'action' | 'appCode' | 'subject' | 'before' | 'after'>;

/**
 * The sentence of a record. `sentences` says by action what stands where: `{subject}`, `{record}`, `{role}`, `{app}`; an action
 * without one is named, and its subject behind it. `ofApplication`: the application need not be named.
 */
export function sentenceOf(record: Told, words: Words, ofApplication = false): readonly Piece[] {
  const { action } = actionOf(record.action);
  const names = namesIn(record);
  const known = words.sentences[action];
  const isWhole = known !== undefined && placesIn(known).every((place) => names[place] !== undefined);
  const plain = words.actions[action] ?? action;
  const said = isWhole ? known : names.subject === undefined ? plain : `${plain}: {subject}`;
  const rest = placesIn(said);
  const also = [
    ...(rest.includes('record') || names.record === undefined ? [] : [' · {record}']),
    ...(rest.includes('app') || ofApplication || names.app === undefined || names.app === names.subject
      ? []
      : [` ${words.inApplication}`]),
  ];
  return `${said}${also.join('')}`
    .split(/(\{\w+\})/)
    .filter((text) => text !== '')
    .map((text, at) => {
      const key = String(at);
      const place = /^\{(\w+)\}$/.exec(text)?.[1];
      if (place === undefined) return { key, text, href: null, isName: false };
      return { key, text: names[place] ?? '', href: hrefOf(place, record, names), isName: true };
    });
}

/** The same without links. */
export function sentenceText(record: Told, words: Words, ofApplication = false): string {
  return sentenceOf(record, words, ofApplication)
    .map(({ text }) => text)
    .join('');
}

function placesIn(sentence: string): string[] {
  return [...sentence.matchAll(/\{(\w+)\}/g)].map(([, place = '']) => place);
}

type Names = Readonly<Record<string, string | undefined>>;

/** What a record is about, by the places of a sentence. */
function namesIn({ appCode, subject, before, after }: Told): Names {
  const fields: Readonly<Record<string, unknown>> = { ...objectOf(before), ...objectOf(after) };
  const { resourceType, resourceId, role } = fields;
  return {
    subject: subject ?? undefined,
    app: appCode ?? undefined,
    role: typeof role === 'string' ? role : undefined,
    record:
      typeof resourceType === 'string' && typeof resourceId === 'string' ? `${resourceType}:${resourceId}` : undefined,
  };
}

function hrefOf(place: string, record: Told, { app, role, subject }: Names): string | null {
  const base = app === undefined ? null : `/applications/${encodeURIComponent(app)}`;
  if (place === 'app') return base;
  if (place === 'role') return base === null ? null : `${base}/matrix/${encodeURIComponent(role ?? '')}`;
  if (place === 'record') return linkOf(record as AuditRecord);
  if (subject?.includes('@') === true) return `/people/${encodeURIComponent(subject)}`;
  return linkOf(record as AuditRecord);
}

function objectOf(side: unknown): object {
  return typeof side === 'object' && side !== null && !Array.isArray(side) ? side : {};
}
