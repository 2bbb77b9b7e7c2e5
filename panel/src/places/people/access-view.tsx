import { Link } from 'wouter';
import { saveCsv } from '../../api/csv.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Badge, Time } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Empty } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Toolbar } from '../../parts/toolbar.tsx';
import { WindowBadge } from '../../parts/window-badge.tsx';
import { mayWriteIn } from '../../shell/panel-app.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import css from './access.module.css';
import { type ApplicationAccess, isOpen, narrowed, tableOf } from './access.ts';
import { personPath } from './address.ts';
import { HeldOverrides, HeldPermissions } from './held.tsx';
import type { PersonProps } from './person-props.ts';
import { Timeline } from './timeline-view.tsx';

/** Everything that the person has, by application, and beside it what happened to them. */
export function AccessView(props: PersonProps) {
  const { people: words, common } = useWords();
  const { email, user } = props;
  const filters = useFilters({ q: '', app: '' });
  const access = useRead('GET /api/users/{email}/access', { path: { email } });
  const all = access.data?.data.applications ?? [];
  const shown = narrowed(all, filters.values.q);
  const headers = [common.application, words.csv.kind, words.csv.what, common.level, words.csv.why, common.record];
  return (
    <div className={css.columns}>
      <div className={css.main}>
        {user.isSuperAdmin && <p className={css.note}>{words.superAdminHas}</p>}
        {!user.active && <p className={css.note}>{words.inactiveHas}</p>}
        <Toolbar>
          <SearchField label={words.searchAccess} value={filters.values.q} onText={(q) => filters.set({ q })} />
          <Button
            kind="quiet"
            disabled={shown.length === 0 && common.missing.rows}
            onClick={() => saveCsv(`access-${email}.csv`, tableOf(shown, headers))}
          >
            {common.export}
          </Button>
        </Toolbar>
        {access.isPending && <Loading rows={6} />}
        {access.isError && <Problem error={asError(access.error)} onRetry={() => void access.refetch()} />}
        {access.isSuccess && shown.length === 0 && (
          <Empty title={all.length === 0 ? words.hasNothing : common.noMatch} />
        )}
        {shown.map((application) => (
          <ApplicationCard
            key={application.code}
            {...props}
            application={application}
            isOpen={isOpen(application.code, {
              asked: filters.values.app,
              count: all.length,
              searching: filters.values.q !== '',
            })}
            onOpen={(open) => filters.set({ app: open ? application.code : '' })}
          />
        ))}
      </div>
      <Timeline email={email} apps={all.map(({ code }) => code)} />
    </div>
  );
}

interface ApplicationCardProps extends PersonProps {
  readonly application: ApplicationAccess;
  readonly isOpen: boolean;
  readonly onOpen: (open: boolean) => void;
}

function ApplicationCard({ application, isOpen: open, onOpen, ...person }: ApplicationCardProps) {
  const { people: words, common } = useWords();
  const { email, onChange } = person;
  const { code, name, level, roles, permissions, overrides, moreOverrides, lastLoginAt } = application;
  const mayChange = mayWriteIn(useRights(), code);
  return (
    <details
      className={css.card}
      open={open}
      onToggle={(event) => event.currentTarget.open !== open && onOpen(event.currentTarget.open)}
    >
      <summary>
        <h2>{name || code}</h2>
        <code className={css.soft}>{code}</code>
        <span className={css.roles}>
          {level === 'app_admin' && <Badge tone="accent">{common.sources.app_admin}</Badge>}
          {roles.slice(0, SUMMARY_ROLES).map((role) => (
            <Badge key={role} title={role}>
              {role}
            </Badge>
          ))}
          {roles.length > SUMMARY_ROLES && <Badge>{words.moreRoles(roles.length - SUMMARY_ROLES)}</Badge>}
        </span>
        <span className={css.counts}>
          {words.permissions(permissions.length)} · {words.overrides(overrides.length + moreOverrides)}
        </span>
      </summary>
      {open && (
        <div className={css.body}>
          {mayChange && (
            <div className={css.acts}>
              <Button onClick={() => onChange({ kind: 'roles', app: code })}>{words.changeRoles}</Button>
              <Button onClick={() => onChange({ kind: 'override', app: code })}>{words.addOverride}</Button>
              <Button kind="quiet" onClick={() => onChange({ kind: 'seat', app: code, add: level !== 'app_admin' })}>
                {level === 'app_admin' ? words.removeAppAdmin : words.makeAppAdmin}
              </Button>
            </div>
          )}
          <RoleWindows windows={application.roleWindows} />
          <HeldPermissions email={email} app={code} permissions={permissions} />
          <HeldOverrides email={email} app={code} overrides={overrides} mayChange={mayChange} onChange={onChange} />
          <p className={css.foot}>
            {moreOverrides > 0 && (
              <Link href={personPath(email, `overrides/${encodeURIComponent(code)}`)}>
                {words.allOverrides(overrides.length + moreOverrides)}
              </Link>
            )}
            <Link href={`/applications/${encodeURIComponent(code)}`}>{words.openApplication(name || code)}</Link>
            <span>
              {words.lastLogin}: <Time iso={lastLoginAt} />
            </span>
          </p>
        </div>
      )}
    </details>
  );
}
const SUMMARY_ROLES = 4;

/** Roles with a beginning or an end, those to come included. */
function RoleWindows({ windows }: { windows: ApplicationAccess['roleWindows'] }) {
  const { people: words } = useWords();
  if (windows.length === 0) return null;
  return (
    <ul className={css.held} aria-label={words.roleWindows}>
      {windows.map(({ code, ...window }) => (
        <li key={code}>
          <div className={css.line}>
            <code className={css.code}>{code}</code>
            <WindowBadge {...window} />
          </div>
        </li>
      ))}
    </ul>
  );
}
