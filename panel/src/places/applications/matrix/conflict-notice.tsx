import { Level } from '../../../parts/badge.tsx';
import { Button } from '../../../parts/button.tsx';
import { useWords } from '../../../words/words.ts';
import { type Conflict, conflictsOf, settled } from './draft.ts';
import css from './matrix.module.css';
import type { MatrixTable } from './table.ts';
import type { Drafting } from './use-draft.ts';

interface ConflictNoticeProps {
  readonly table: MatrixTable;
  readonly drafting: Drafting;
  /** Whether a write was refused because of a newer state. */
  readonly stale: boolean;
  readonly onSettled: () => void;
}

/** The draft beside what somebody else has saved meanwhile, cell by cell. */
export function ConflictNotice({ table, drafting, stale, onSettled }: ConflictNoticeProps) {
  const { common, applications } = useWords();
  const words = applications.matrix;
  const conflicts = conflictsOf(drafting.draft.changes, table);
  if (conflicts.length === 0 && !stale) return null;
  const settle = (which: readonly Conflict[], keep: 'mine' | 'theirs'): void => {
    drafting.replace(settled(drafting.draft, which, keep));
    if (which.length === conflicts.length) onSettled();
  };
  return (
    <section className={css.conflicts} aria-label={words.staleTitle}>
      <p role="status">
        <strong>{words.staleTitle}</strong>{' '}
        {conflicts.length === 0 ? words.staleNone : words.staleSome(conflicts.length)}
      </p>
      {conflicts.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">{common.role}</th>
              <th scope="col">{common.permission}</th>
              <th scope="col">{words.before}</th>
              <th scope="col">{words.yours}</th>
              <th scope="col">{words.theirsNow}</th>
              <th scope="col">{common.actions}</th>
            </tr>
          </thead>
          <tbody>
            {conflicts.slice(0, 50).map((conflict) => (
              <tr key={`${conflict.roleId}:${conflict.permissionId}`}>
                <td>{table.roleOf.get(conflict.roleId)?.code}</td>
                <td>{table.permissionOf.get(conflict.permissionId)?.code}</td>
                <td>
                  <Level level={conflict.from} />
                </td>
                <td>
                  <Level level={conflict.to} />
                </td>
                <td>
                  <Level level={conflict.theirs} />
                </td>
                <td>
                  <Button kind="quiet" onClick={() => settle([conflict], 'mine')}>
                    {words.keepMine}
                  </Button>
                  <Button kind="quiet" onClick={() => settle([conflict], 'theirs')}>
                    {words.takeTheirs}
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {conflicts.length > 1 && (
        <div className={css.buttons}>
          <Button onClick={() => settle(conflicts, 'mine')}>{words.keepAllMine}</Button>
          <Button onClick={() => settle(conflicts, 'theirs')}>{words.takeAllTheirs}</Button>
        </div>
      )}
      {conflicts.length === 0 && <Button onClick={onSettled}>{common.close}</Button>}
    </section>
  );
}
