import { lazy, Suspense, useState } from 'react';
import type { Item } from '../../../../src/gen/api.ts';
import { useList } from '../../api/queries.ts';
import { Badge, Time } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { type Column, List } from '../../parts/list.tsx';
import { Loading } from '../../parts/problem.tsx';
import { useAction } from '../../shell/actions.ts';
import { useWords } from '../../words/words.ts';
import { personPath } from '../people/address.ts';
import { ChangeSuperAdmin } from '../people/changing.tsx';
import css from './settings.module.css';

const PersonField = lazy(async () => ({ default: (await import('../../parts/person-field.tsx')).PersonField }));

type SuperAdmin = Item<'GET /api/users/admins/super'>;

/** Who is allowed everything. The last active one cannot be removed. */
export function SuperAdmins() {
  const { settings, common, people } = useWords();
  const words = settings.superadmins;
  const listed = useList('GET /api/users/admins/super', {});
  const [change, setChange] = useState<{ email: string; add: boolean } | null>(null);
  const [asking, setAsking] = useState(false);
  useAction(words.add, () => setAsking(true));
  const active = listed.items.filter((one) => one.active);
  const columns: readonly Column<SuperAdmin>[] = [
    { title: common.email, width: 'minmax(0, 2fr)', cell: ({ email }) => email },
    {
      title: common.status,
      cell: (one) => (one.active ? people.states.active : <Badge tone="warn">{people.states.inactive}</Badge>),
    },
    { title: words.since, wide: true, cell: ({ createdAt }) => <Time iso={createdAt} /> },
    {
      title: common.actions,
      width: '10rem',
      cell: (one) =>
        one.active && active.length === 1 ? (
          <span className={css.soft}>{words.last}</span>
        ) : (
          <Button
            kind="quiet"
            aria-label={`${common.remove}: ${one.email}`}
            onClick={() => setChange({ email: one.email, add: false })}
          >
            {common.remove}
          </Button>
        ),
    },
  ];
  return (
    <>
      <div className={css.bar}>
        <p className={css.soft}>{people.superAdminWhy}</p>
        <Button kind="primary" onClick={() => setAsking(true)}>
          {words.add}
        </Button>
      </div>
      <List
        label={words.title}
        listed={listed}
        columns={columns}
        keyOf={({ email }) => email}
        href={({ email }) => personPath(email)}
      />
      {asking && (
        <AskWhom
          onClose={() => setAsking(false)}
          onEmail={(email) => {
            setAsking(false);
            setChange({ email, add: true });
          }}
        />
      )}
      {change !== null && <ChangeSuperAdmin {...change} onClose={() => setChange(null)} />}
    </>
  );
}

function AskWhom({ onClose, onEmail }: { onClose: () => void; onEmail: (email: string) => void }) {
  const { settings, common } = useWords();
  const [email, setEmail] = useState('');
  const submit = (): void => {
    onEmail(email.trim());
  };
  return (
    <Dialog
      title={settings.superadmins.add}
      onClose={onClose}
      act={{ label: common.review, disabled: !email.includes('@') && common.missing.address }}
      onSubmit={submit}
    >
      <Suspense fallback={<Loading rows={1} />}>
        <PersonField value={email} onText={setEmail} autoFocus />
      </Suspense>
    </Dialog>
  );
}
