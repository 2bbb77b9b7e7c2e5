import { useId, useState } from 'react';
import { Link } from 'wouter';
import { Level } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { WindowBadge } from '../../parts/window-badge.tsx';
import { useWords } from '../../words/words.ts';
import css from './access.module.css';
import { type ApplicationAccess, levelOf, type Override } from './access.ts';
import { askPath } from './address.ts';
import type { Changing } from './person-props.ts';
import { Why } from './why.tsx';

/** Shown at first; the rest on demand, so that 10,000 do not hold up the page. */
const FIRST = 25;
/** Added by each press. */
const STEP = 500;

interface HeldPermissionsProps {
  readonly email: string;
  readonly app: string;
  readonly permissions: ApplicationAccess['permissions'];
}

/** What is held without a record, each with its reason. */
export function HeldPermissions({ email, app, permissions }: HeldPermissionsProps) {
  const { people: words } = useWords();
  const [limit, setLimit] = useState(FIRST);
  if (permissions.length === 0) return <p className={css.soft}>{words.noPermissions}</p>;
  return (
    <>
      <ul className={css.held} aria-label={words.permissions(permissions.length)}>
        {permissions.slice(0, limit).map((permission) => (
          <HeldPermission key={permission.code} email={email} app={app} {...permission} />
        ))}
      </ul>
      <More count={permissions.length - limit} onMore={() => setLimit(limit + STEP)} />
    </>
  );
}

type HeldPermissionProps = ApplicationAccess['permissions'][number] & { readonly email: string; readonly app: string };

function HeldPermission({ email, app, code, accessLevel, source }: HeldPermissionProps) {
  const { people: words, common } = useWords();
  const [open, setOpen] = useState(false);
  const why = useId();
  const question = { app, email, permission: code };
  return (
    <li>
      <div className={css.line}>
        <code className={css.code}>{code}</code>
        <Level level={accessLevel} />
        <button
          type="button"
          className={css.why}
          aria-expanded={open}
          aria-controls={open ? why : undefined}
          aria-label={words.whyOf(code, common.sources[source])}
          onClick={() => setOpen(!open)}
        >
          {common.sources[source]}
        </button>
        <Link href={askPath(question)} aria-label={words.askAbout(code)}>
          {words.ask}
        </Link>
      </div>
      {open && (
        <div id={why} className={css.reason}>
          <Why question={question} />
        </div>
      )}
    </li>
  );
}

interface HeldOverridesProps {
  readonly email: string;
  readonly app: string;
  readonly overrides: readonly Override[];
  readonly mayChange: boolean;
  readonly onChange: (change: Changing) => void;
}

/** What is different for single records. */
export function HeldOverrides({ overrides, ...rest }: HeldOverridesProps) {
  const { people: words } = useWords();
  const [limit, setLimit] = useState(FIRST);
  if (overrides.length === 0) return null;
  return (
    <>
      <h3>{words.overrideTitle}</h3>
      <ul className={css.held} aria-label={words.overrideTitle}>
        {overrides.slice(0, limit).map((override) => (
          <HeldOverride
            key={`${override.resourceType}\n${override.resourceId}\n${override.permission}`}
            override={override}
            {...rest}
          />
        ))}
      </ul>
      <More count={overrides.length - limit} onMore={() => setLimit(limit + STEP)} />
    </>
  );
}

type HeldOverrideProps = Omit<HeldOverridesProps, 'overrides'> & { readonly override: Override };

function HeldOverride({ email, app, override, mayChange, onChange }: HeldOverrideProps) {
  const { people: words, common } = useWords();
  const { resourceType, resourceId, permission } = override;
  const record = `${resourceType}:${resourceId}`;
  return (
    <li>
      <div className={css.line}>
        <span className={css.code}>
          <code>{permission}</code> <span className={css.soft}>{words.on}</span> <code>{record}</code>
        </span>
        <Level level={levelOf(override)} />
        <WindowBadge {...override} />
        {mayChange && (
          <Button
            kind="quiet"
            aria-label={words.changeOverrideOf(permission, record)}
            onClick={() => onChange({ kind: 'override', app, resourceType, resourceId })}
          >
            {common.edit}
          </Button>
        )}
        <Link
          href={askPath({ app, email, permission, resourceType, resourceId })}
          aria-label={words.askAbout(`${permission} ${record}`)}
        >
          {words.ask}
        </Link>
      </div>
    </li>
  );
}

function More({ count, onMore }: { count: number; onMore: () => void }) {
  const { people: words } = useWords();
  if (count <= 0) return null;
  return (
    <Button kind="quiet" onClick={onMore}>
      {words.showMore(count)}
    </Button>
  );
}
