import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Badge, Level } from '../../parts/badge.tsx';
import { Card, Empty } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';
import css from './home.module.css';

/** Of one application; the rest is counted. */
const SHOWN = 100;

/** What the signed-in person may do themselves. */
export function OwnAccess() {
  const { home: words, people, common } = useWords();
  const access = useRead('GET /api/profile/me/access', {});
  if (access.isPending) return <Loading rows={4} />;
  if (access.data === undefined) {
    return <Problem error={asError(access.error)} onRetry={() => void access.refetch()} />;
  }
  const { applications } = access.data.data;
  if (applications.length === 0) return <Empty title={words.nothingOwn} />;
  return (
    <>
      <h2>{words.own}</h2>
      {applications.map(({ code, name, level, roles, permissions, overrides, moreOverrides }) => (
        <Card
          key={code}
          title={name || code}
          actions={
            <span className={css.badges}>
              {level === 'app_admin' && <Badge tone="accent">{common.sources.app_admin}</Badge>}
              {roles.map((role) => (
                <Badge key={role}>{role}</Badge>
              ))}
            </span>
          }
        >
          {permissions.length === 0 && <p className={css.soft}>{people.noPermissions}</p>}
          <ul className={css.own}>
            {permissions.slice(0, SHOWN).map((permission) => (
              <li key={permission.code}>
                <code>{permission.code}</code> <Level level={permission.accessLevel} />
              </li>
            ))}
          </ul>
          {permissions.length > SHOWN && <p className={css.soft}>{words.andMore(permissions.length - SHOWN)}</p>}
          {overrides.length + moreOverrides > 0 && (
            <p className={css.soft}>{people.overrides(overrides.length + moreOverrides)}</p>
          )}
        </Card>
      ))}
    </>
  );
}
