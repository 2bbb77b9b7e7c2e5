import { useState } from 'react';
import { call } from '../../api/call.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Time } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { SelectField, Switch } from '../../parts/field.tsx';
import { Card, Facts } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { mayWriteIn } from '../../shell/panel-app.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import { NameAccount } from './name-account.tsx';
import css from './people.module.css';
import type { PersonProps } from './person-props.ts';

/** The profile, preferences by application, and what only administrators may do about the person. */
export function About(props: PersonProps) {
  const { people: words, common } = useWords();
  const rights = useRights();
  const { user, email } = props;
  const name = [user.firstName, user.lastName].filter(Boolean).join(' ');
  const visible = new Set([...user.applications.map(({ appCode }) => appCode), ...user.appAdminFor]);
  return (
    <div className={css.cards}>
      <Card title={words.profile}>
        <Facts
          facts={[
            [common.personName, name || user.displayName || '–'],
            [words.displayName, user.displayName ?? '–'],
            [words.brand, user.brand ?? '–'],
            [words.language, user.locale ?? words.byApplication],
            [words.timezone, user.timezone ?? words.byBrowser],
            [words.since, <Time key="since" iso={user.createdAt} />],
          ]}
        />
      </Card>
      {visible.size > 0 && <Preferences email={email} apps={[...visible].sort()} />}
      <Seats {...props} />
      {rights.isSuperAdmin && <Administration {...props} />}
    </div>
  );
}

function Preferences({ email, apps }: { email: string; apps: readonly string[] }) {
  const { people: words, common } = useWords();
  const rights = useRights();
  const [app, setApp] = useState(apps[0] ?? '');
  const path = { email, appCode: app };
  const read = useRead('GET /api/users/{email}/apps/{appCode}/preferences', { path });
  const writing = useWrite({ done: common.saved, refreshes: [`/api/users/${email}`] });
  // In the panel's own application these are SuperAdmins', as everything else of it.
  const mayChange = mayWriteIn(rights, app);
  const preferences = read.data?.data;
  const change = (body: { showHelp?: boolean; notificationsEnabled?: boolean }) =>
    void writing.run(() => call('PUT /api/users/{email}/apps/{appCode}/preferences', { path, body }));
  return (
    <Card title={words.preferences}>
      <SelectField
        label={common.application}
        value={app}
        options={apps.map((code) => [code, code] as const)}
        onText={setApp}
      />
      {read.isPending && <Loading rows={2} />}
      {read.isError && <Problem error={asError(read.error)} onRetry={() => void read.refetch()} />}
      <Problem error={writing.error} />
      {preferences !== undefined &&
        (mayChange ? (
          <>
            <Switch
              label={words.notificationsEnabled}
              checked={preferences.notificationsEnabled}
              onChecked={(notificationsEnabled) => change({ notificationsEnabled })}
            />
            <Switch
              label={words.showHelp}
              checked={preferences.showHelp}
              onChecked={(showHelp) => change({ showHelp })}
            />
          </>
        ) : (
          <Facts
            facts={[
              [words.notificationsEnabled, preferences.notificationsEnabled ? common.yes : common.no],
              [words.showHelp, preferences.showHelp ? common.yes : common.no],
            ]}
          />
        ))}
    </Card>
  );
}

/** Which applications the person administers. */
function Seats({ user, onChange }: PersonProps) {
  const { people: words, common } = useWords();
  const rights = useRights();
  const applications = useRead('GET /api/applications', {}, { enabled: rights.any });
  const free = (applications.data?.data ?? []).filter(
    ({ code }) => mayWriteIn(rights, code) && !user.appAdminFor.includes(code),
  );
  const [chosen, setChosen] = useState('');
  const app = chosen || (free[0]?.code ?? '');
  return (
    <Card title={words.seats}>
      {user.appAdminFor.length === 0 && <p className={css.soft}>{words.noSeats}</p>}
      <ul className={css.plain}>
        {user.appAdminFor.map((code) => (
          <li key={code}>
            <code>{code}</code>
            {mayWriteIn(rights, code) && (
              <Button
                kind="quiet"
                aria-label={`${common.remove}: ${code}`}
                onClick={() => onChange({ kind: 'seat', app: code, add: false })}
              >
                {common.remove}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {free.length > 0 && (
        <div className={css.inline}>
          <SelectField
            bare
            label={common.application}
            value={app}
            options={free.map(({ code, name }) => [code, name === code ? code : `${name} (${code})`] as const)}
            onText={setChosen}
          />
          <Button onClick={() => onChange({ kind: 'seat', app, add: true })}>{words.makeAppAdmin}</Button>
        </div>
      )}
    </Card>
  );
}

function Administration({ email, user, onChange }: PersonProps) {
  const { people: words } = useWords();
  const [forgetting, setForgetting] = useState(false);
  const [naming, setNaming] = useState(false);
  const isSuperAdmin = user.isSuperAdmin === true;
  return (
    <Card title={words.administration}>
      <div className={css.act}>
        <p>{isSuperAdmin ? words.isSuperAdminNow : words.superAdminWhy}</p>
        <Button kind="danger" onClick={() => onChange({ kind: 'superadmin', add: !isSuperAdmin })}>
          {isSuperAdmin ? words.removeSuperAdmin : words.makeSuperAdmin}
        </Button>
      </div>
      <div className={css.act}>
        <p>{words.nameAccountWhy}</p>
        <Button onClick={() => setNaming(true)}>{words.nameAccount}</Button>
      </div>
      <div className={css.act}>
        <p>{words.forgetWhy}</p>
        <Button kind="danger" onClick={() => setForgetting(true)}>
          {words.forget}
        </Button>
      </div>
      {naming && <NameAccount email={email} onClose={() => setNaming(false)} />}
      {forgetting && <Forget email={email} onClose={() => setForgetting(false)} />}
    </Card>
  );
}

function Forget({ email, onClose }: { email: string; onClose: () => void }) {
  const { people: words } = useWords();
  const writing = useWrite({ done: words.forgotten(email) });
  const forget = async (): Promise<void> => {
    if (await writing.run(() => call('DELETE /api/users/{email}/subject', { path: { email } }))) onClose();
  };
  return (
    <Confirm title={words.forgetOf(email)} action={words.forget} writing={writing} onConfirm={forget} onClose={onClose}>
      {words.forgetWhy}
    </Confirm>
  );
}
