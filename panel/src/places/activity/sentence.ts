/** A record of the audit as one sentence, with links to what it names. */

import { namesIn, piecesOf, type SentenceNames, type SentenceWords } from '../../../../src/base/audit-sentences.ts';
import { type AuditRecord, linkOf } from './changes.ts';

/** A piece of a sentence; with an address where the panel has a page of what it names. */
export interface Piece {
  /** Of its own within the sentence. */
  readonly key: string;
  readonly text: string;
  readonly href: string | null;
  /** Whether it names something: its letters run in their own direction. */
  readonly isName: boolean;
}

type Told = Pick<AuditRecord, 'action' | 'appCode' | 'subject' | 'before' | 'after'>;

/** The sentence of a record. `ofApplication`: the application need not be named. */
export function sentenceOf(record: Told, words: SentenceWords, ofApplication = false): readonly Piece[] {
  const names = namesIn(record);
  return piecesOf(record, words, ofApplication).map(({ place, text }, at) => {
    const key = String(at);
    if (place === null) return { key, text, href: null, isName: false };
    return { key, text, href: hrefOf(place, record, names), isName: true };
  });
}

/** The same without links. */
export function sentenceText(record: Told, words: SentenceWords, ofApplication = false): string {
  return piecesOf(record, words, ofApplication)
    .map(({ text }) => text)
    .join('');
}

function hrefOf(place: string, record: Told, { app, role, subject }: SentenceNames): string | null {
  const base = app === undefined ? null : `/applications/${encodeURIComponent(app)}`;
  if (place === 'app') return base;
  if (place === 'role') return base === null ? null : `${base}/matrix/${encodeURIComponent(role ?? '')}`;
  if (place === 'record') return linkOf(record as AuditRecord);
  if (subject?.includes('@') === true) return `/people/${encodeURIComponent(subject)}`;
  return linkOf(record as AuditRecord);
}
