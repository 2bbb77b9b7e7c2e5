import { Link } from 'wouter';
import { actionOf } from '../../../../src/base/audit-sentences.ts';
import { Badge } from '../../parts/badge.tsx';
import { useWords } from '../../words/words.ts';
import type { AuditRecord } from './changes.ts';
import { type Piece, sentenceOf } from './sentence.ts';
import css from './told.module.css';

/** What a record tells, as a sentence whose names lead to what they name. */
export function Told({ record, ofApplication = false }: { record: AuditRecord; ofApplication?: boolean }) {
  const { activity: words } = useWords();
  const pieces = sentenceOf(record, words, ofApplication);
  return (
    <span className={css.told}>
      {pieces.map((piece) => (
        <Said key={piece.key} piece={piece} />
      ))}
      {record.reason !== null && <q className={css.reason}>{record.reason}</q>}
      {actionOf(record.action).refused && (
        <>
          {' '}
          <Badge tone="bad">{words.refused}</Badge>
        </>
      )}
    </span>
  );
}

function Said({ piece: { text, href, isName } }: { piece: Piece }) {
  if (!isName) return text;
  return href === null ? <bdi>{text}</bdi> : <Link href={href}>{text}</Link>;
}

/** What was, and what is instead. A denial is shown as one, whichever side it stands on. */
export function Moved({ before, after }: { before: string | null; after: string | null }) {
  return (
    <>
      {before !== null && <del className={css.gone}>{before}</del>} {before !== null && after !== null && '→'}{' '}
      {after !== null && <ins className={isDenial(after) ? css.denied : css.come}>{after}</ins>}
    </>
  );
}

/** Whether a value says that somebody may not. */
export function isDenial(value: string): boolean {
  return value === 'denied';
}
