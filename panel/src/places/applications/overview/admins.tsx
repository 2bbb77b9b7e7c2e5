import { lazy, Suspense, useState } from 'react';
import { Link } from 'wouter';
import { asError } from '../../../api/error.ts';
import { useRead } from '../../../api/queries.ts';
import { Time } from '../../../parts/badge.tsx';
import { Button } from '../../../parts/button.tsx';
import { Growing } from '../../../parts/list.tsx';
import { Card } from '../../../parts/page.tsx';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { type GrantWindow, windowOf } from '../../../parts/until.ts';
import { WindowBadge } from '../../../parts/window-badge.tsx';
import { useWords } from '../../../words/words.ts';
import css from '../applications.module.css';

const AddAdmin = lazy(async () => ({ default: (await import('./admin-dialogs.tsx')).AddAdmin }));
const RemoveAdmin = lazy(async () => ({ default: (await import('./admin-dialogs.tsx')).RemoveAdmin }));

/** The administrators of an application: each change of them shows first who gains and who loses. */
export function Admins({ appCode, mayEdit }: { appCode: string; mayEdit: boolean }) {
  const words = useWords().applications.overview;
  const admins = useRead('GET /api/users/admins/apps/{appCode}', { path: { appCode } });
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<{ email: string; window: GrantWindow } | null>(null);
  const { common } = useWords();
  return (
    <Card title={words.admins} actions={mayEdit && <Button onClick={() => setAdding(true)}>{common.add}</Button>}>
      <p className={css.soft}>{words.adminsLead}</p>
      {admins.isPending && <Loading />}
      {admins.isError && <Problem error={asError(admins.error)} onRetry={() => void admins.refetch()} />}
      {admins.data?.data.length === 0 && <p>{words.noAdmins}</p>}
      <ul className={css.plain}>
        <Growing
          items={admins.data?.data ?? []}
          draw={({ email, createdAt, ...of }) => (
            <li key={email}>
              <span>
                <Link href={`/people/${encodeURIComponent(email)}`}>{email}</Link>{' '}
                <span className={css.soft}>
                  <Time iso={createdAt} />
                </span>{' '}
                <WindowBadge {...windowOf(of)} />
              </span>
              {mayEdit && (
                <Button
                  kind="quiet"
                  aria-label={words.removeAdmin(email)}
                  onClick={() => setRemoving({ email, window: windowOf(of) })}
                >
                  {common.remove}
                </Button>
              )}
            </li>
          )}
        />
      </ul>
      <Suspense fallback={null}>
        {adding && <AddAdmin appCode={appCode} onClose={() => setAdding(false)} />}
        {removing !== null && <RemoveAdmin appCode={appCode} {...removing} onClose={() => setRemoving(null)} />}
      </Suspense>
    </Card>
  );
}
