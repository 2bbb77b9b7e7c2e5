import { useState } from 'react';
import type { Difference } from '../../../../src/base/audit-differences.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { useWords } from '../../words/words.ts';
import type { AuditRecord } from './changes.ts';
import { restoreOf } from './restore.ts';
import { RestoreDialog } from './restore-dialog.tsx';
import css from './timeline.module.css';
import { Moved } from './told.tsx';

interface DetailsProps {
  readonly record: AuditRecord;
  readonly differences: readonly Difference[];
  readonly mayEdit: (appCode: string) => boolean;
}

/** Everything that a record says, and what can be made of it. */
export function Details({ record, differences, mayEdit }: DetailsProps) {
  const { activity: words } = useWords();
  const [restoring, setRestoring] = useState(false);
  const restore = record.appCode !== null && mayEdit(record.appCode) ? restoreOf(record) : null;
  return (
    <div className={css.details}>
      {differences.length === 0 ? (
        <p className={css.soft}>{words.noDetails}</p>
      ) : (
        <table className={css.diff}>
          <thead>
            <tr>
              <th scope="col">{words.field}</th>
              <th scope="col">{words.before}</th>
              <th scope="col">{words.after}</th>
            </tr>
          </thead>
          <tbody>
            {differences.map(({ name, before, after }) => (
              <tr key={name}>
                <th scope="row">
                  <code>{name}</code>
                </th>
                <td>
                  {before === null ? (
                    <span className={css.soft}>{words.nothing}</span>
                  ) : (
                    <Moved before={before} after={null} />
                  )}
                </td>
                <td>
                  {after === null ? (
                    <span className={css.soft}>{words.nothing}</span>
                  ) : (
                    <Moved before={null} after={after} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <div className={css.foot}>
        <code>{record.action}</code>
        {record.requestId !== null && (
          <span>
            {words.request} <code>{record.requestId}</code>
          </span>
        )}
        <CopyButton label={words.link} text={() => linkTo(record)} />
        {restore?.kind === 'link' && <ButtonLink href={restore.href}>{words.restore}</ButtonLink>}
        {restore !== null && restore.kind !== 'link' && (
          <Button onClick={() => setRestoring(true)}>{words.restore}</Button>
        )}
      </div>
      {restoring && restore !== null && <RestoreDialog restore={restore} onClose={() => setRestoring(false)} />}
    </div>
  );
}

/** The address of the view with the records of this moment alone. */
function linkTo({ at }: AuditRecord): string {
  const url = new URL(location.href);
  url.search = String(new URLSearchParams({ from: at, to: at }));
  return url.href;
}
