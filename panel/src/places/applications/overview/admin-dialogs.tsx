import { lazy, Suspense, useState } from 'react';
import { call } from '../../../api/call.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { ImpactReview } from '../../../parts/impact.tsx';
import { Loading } from '../../../parts/problem.tsx';
import type { GrantWindow } from '../../../parts/until.ts';
import { UntilField } from '../../../parts/until-field.tsx';
import { useWindowText } from '../../../parts/window-badge.tsx';
import { useRights } from '../../../shell/rights.ts';
import { useWords } from '../../../words/words.ts';
import css from '../applications.module.css';

const PersonField = lazy(async () => ({ default: (await import('../../../parts/person-field.tsx')).PersonField }));

const ADD = 'POST /api/users/admins/apps/{appCode}';
const REMOVE = 'DELETE /api/users/admins/apps/{appCode}/{email}';
const REFRESHED = ['/api/users', '/api/applications', '/api/profile'];

export function AddAdmin({ appCode, onClose }: { appCode: string; onClose: () => void }) {
  const { applications, common } = useWords();
  const words = applications.overview;
  const [email, setEmail] = useState('');
  const [endsAt, setEndsAt] = useState<string | null>(null);
  const [reviewing, setReviewing] = useState(false);
  const said = useWindowText();
  const address = email.trim().toLowerCase();
  if (reviewing) {
    return (
      <ImpactReview
        title={words.addAdminTitle}
        operation={ADD}
        input={{ path: { appCode }, body: { email: address, ...(endsAt === null ? {} : { endsAt }) } }}
        summary={
          <p>
            {address} {said({ startsAt: null, endsAt })}
          </p>
        }
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
      <UntilField value={endsAt} onValue={setEndsAt} />
      <p className={css.soft}>{words.adminsLead}</p>
    </Dialog>
  );
}

interface RemoveAdminProps {
  readonly appCode: string;
  readonly email: string;
  /** For Undo. */
  readonly window: GrantWindow;
  readonly onClose: () => void;
}

export function RemoveAdmin({ appCode, email, window, onClose }: RemoveAdminProps) {
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
      {...(own ? {} : { undo: (bound) => call(ADD, { path: { appCode }, body: { email, ...window } }, bound) })}
      refreshes={REFRESHED}
      onClose={onClose}
    />
  );
}
