import { call } from '../../../api/call.ts';
import { ImpactReview } from '../../../parts/impact.tsx';
import { useWords } from '../../../words/words.ts';
import { type Changes, cellsOf, type inverseOf } from './draft.ts';
import css from './matrix.module.css';
import { sentencesOf } from './sentences.ts';
import type { MatrixTable } from './table.ts';

interface ReviewProps {
  readonly appCode: string;
  readonly table: MatrixTable;
  readonly changes: Changes;
  /** What takes the changes back. */
  readonly inverse: ReturnType<typeof inverseOf>;
  readonly etag: string | null;
  readonly onClose: () => void;
  readonly onDone: () => void;
  readonly onStale: () => void;
}

/** The draft as sentences, who gains and who loses by it, and the write itself. */
export function Review({ appCode, table, changes, inverse, etag, onClose, onDone, onStale }: ReviewProps) {
  const words = useWords();
  const { matrix } = words.applications;
  const path = { appCode };
  return (
    <ImpactReview
      title={matrix.reviewTitle}
      operation="PUT /api/applications/{appCode}/matrix"
      input={{ path, body: { changes: cellsOf(changes.values()) } }}
      ifMatch={etag ?? undefined}
      summary={
        <div className={css.sentences}>
          {sentencesOf(changes.values(), table, matrix, words.common.levels).map(({ role, holders, sentences }) => (
            <section key={role}>
              <h3>
                {role} <span className={css.soft}>{words.common.people(holders)}</span>
              </h3>
              <ul>
                {sentences.map((sentence) => (
                  <li key={sentence}>{sentence}</li>
                ))}
              </ul>
            </section>
          ))}
        </div>
      }
      done={matrix.reviewDone(changes.size)}
      undo={(_, { etag: ifMatch }) =>
        call(
          'PUT /api/applications/{appCode}/matrix',
          { path, body: { changes: inverse } },
          { ifMatch: ifMatch ?? undefined },
        )
      }
      refreshes={[`/api/applications/${appCode}`]}
      onClose={onClose}
      onDone={onDone}
      onStale={onStale}
    />
  );
}
