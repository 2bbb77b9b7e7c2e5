import { lazy, Suspense, useState } from 'react';
import { Link } from 'wouter';
import { call } from '../../../api/call.ts';
import { asError } from '../../../api/error.ts';
import { useRead } from '../../../api/queries.ts';
import { Time } from '../../../parts/badge.tsx';
import { Button } from '../../../parts/button.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { ImpactReview } from '../../../parts/impact.tsx';
import { Growing } from '../../../parts/list.tsx';
import { Card } from '../../../parts/page.tsx';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { useRights } from '../../../shell/rights.ts';
import { useWords } from '../../../words/words.ts';
import css from '../applications.module.css';

const PersonField = lazy(async () => ({ default: (await import('../../../parts/person-field.tsx')).PersonField }));

const ADD = 'POST /api/users/admins/apps/{appCode}';
const REMOVE = 'DELETE /api/users/admins/apps/{appCode}/{email}';
const REFRESHED = ['/api/users', '/api/applications', '/api/profile'];

/** The administrators of an application: each change of them shows first who gains and who loses. */
export function Admins({ appCode, mayEdit }: { appCode: string; mayEdit: boolean }) {
  const words = useWords().applications.overview;
  const admins = useRead('GET /api/users/admins/apps/{appCode}', { path: { appCode } });
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<string | null>(null);
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
          draw={({ email, createdAt }) => (
            <li key={email}>
              <span>
                <Link href={`/people/${encodeURIComponent(email)}`}>{email}</Link>{' '}
                <span className={css.soft}>
                  <Time iso={createdAt} />
                </span>
              </span>
              {mayEdit && (
                <Button kind="quiet" aria-label={words.removeAdmin(email)} onClick={() => setRemoving(email)}>
                  {common.remove}
                </Button>
              )}
            </li>
          )}
        />
      </ul>
      {adding && <AddAdmin appCode={appCode} onClose={() => setAdding(false)} />}
      {removing !== null && <RemoveAdmin appCode={appCode} email={removing} onClose={() => setRemoving(null)} />}
    </Card>
  );
}

function AddAdmin({ appCode, onClose }: { appCode: string; onClose: () => void }) {
  const { applications, common } = useWords();
  const words = applications.overview;
  const [email, setEmail] = useState('');
  const [reviewing, setReviewing] = useState(false);
  const address = email.trim().toLowerCase();
  if (reviewing) {
    return (
      <ImpactReview
        title={words.addAdminTitle}
        operation={ADD}
        input={{ path: { appCode }, body: { email: address } }}
        summary={<p>{address}</p>}
        done={words.adminAdded(address)}
        undo={(bound) => call(REMOVE, { path: { appCode, email: address } }, bound)}
        refreshes={REFRESHED}
        onClose={() => setReviewing(false)}
        onDone={onClose}
      />
    );
  }
  return (
    <Dialog
      title={words.addAdminTitle}
      dirty={email !== ''}
      onClose={onClose}
      act={{ label: common.review, disabled: !address.includes('@') && common.missing.address }}
      onSubmit={() => {
        if (address.includes('@')) setReviewing(true);
      }}
    >
      <Suspense fallback={<Loading rows={1} />}>
        <PersonField value={email} onText={setEmail} autoFocus />
      </Suspense>
      <p className={css.soft}>{words.adminsLead}</p>
    </Dialog>
  );
}

function RemoveAdmin({ appCode, email, onClose }: { appCode: string; email: string; onClose: () => void }) {
  const words = useWords().applications.overview;
  const rights = useRights();
  const own = email === rights.email && !rights.isSuperAdmin;
  return (
    <ImpactReview
      title={words.removeAdminTitle}
      operation={REMOVE}
      input={{ path: { appCode, email } }}
      summary={
        <>
          <p>{email}</p>
          {own && <p>{words.removeYourself}</p>}
        </>
      }
      confirm={words.removeAdmin(email)}
      danger
      done={words.adminRemoved(email)}
      {...(own ? {} : { undo: (bound) => call(ADD, { path: { appCode }, body: { email } }, bound) })}
      refreshes={REFRESHED}
      onClose={onClose}
    />
  );
}
