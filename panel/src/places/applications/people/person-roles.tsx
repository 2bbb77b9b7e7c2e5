import { useState } from 'react';
import { call } from '../../../api/call.ts';
import { asError } from '../../../api/error.ts';
import { useRead } from '../../../api/queries.ts';
import { Badge } from '../../../parts/badge.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { ImpactReview } from '../../../parts/impact.tsx';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { type GrantWindow, windowOf } from '../../../parts/until.ts';
import { useWindowText } from '../../../parts/window-badge.tsx';
import { useWords } from '../../../words/words.ts';
import { differences } from './chosen.ts';
import css from './people.module.css';
import { type Ends, type Role, RoleChoice } from './role-choice.tsx';

interface PersonRolesProps {
  readonly appCode: string;
  readonly email: string;
  readonly roles: readonly Role[];
  readonly onClose: () => void;
}

/** The roles of one person here. A choice made on an older state is kept, and what changed meanwhile is marked. */
export function PersonRoles({ appCode, email, roles, onClose }: PersonRolesProps) {
  const { applications, common } = useWords();
  const words = applications.people;
  const path = { email, appCode };
  const held = useRead('GET /api/users/{email}/apps/{appCode}/roles', { path });
  const [draft, setDraft] = useState<ReadonlySet<string> | null>(null);
  /** The state that the choice was made on. */
  const [base, setBase] = useState<{ readonly codes: ReadonlySet<string>; readonly etag: string | null } | null>(null);
  const [reviewing, setReviewing] = useState(false);
  const user = useRead('GET /api/users/{email}', { path: { email } });
  /** Ends that were chosen. */
  const [ends, setEnds] = useState<Ends>(new Map());
  const windows = new Map((held.data?.data ?? []).map((role) => [role.code, windowOf(role)]));
  const now = new Set(windows.keys());
  const before = base?.codes ?? now;
  const chosen = draft ?? now;
  const { added, removed } = differences(now, chosen);
  const elsewhere = differences(before, now);
  const marked = new Set(elsewhere.added);
  const moved = elsewhere.added.length + elsewhere.removed.length > 0;
  const choose = (codes: ReadonlySet<string>): void => {
    if (base === null) setBase({ codes: now, etag: held.data?.etag ?? null });
    setDraft(codes);
  };
  const endOf = (code: string) => (ends.has(code) ? (ends.get(code) ?? null) : (windows.get(code)?.endsAt ?? null));
  const shown: Ends = new Map([...chosen].map((code) => [code, endOf(code)]));
  const moves = movesOf(added, removed, [...chosen], windows, shown);
  if (reviewing) {
    return (
      <ImpactReview
        title={words.editOf(email)}
        operation="PUT /api/users/{email}/apps/{appCode}/roles"
        input={{ path, body: { roles: [...chosen].map((code) => roleWith(code, ends.get(code))) } }}
        ifMatch={held.data?.etag ?? undefined}
        summary={<Moves {...moves} />}
        done={words.changed(email)}
        undo={(bound) =>
          call(
            'PUT /api/users/{email}/apps/{appCode}/roles',
            { path, body: { roles: [...windows].map(([role, window]) => ({ role, ...window })) } },
            bound,
          )
        }
        onClose={() => {
          setReviewing(false);
          void held.refetch();
        }}
        onDone={onClose}
      />
    );
  }
  return (
    <Dialog
      title={words.editOf(email)}
      onClose={onClose}
      act={{
        label: common.review,
        disabled: !held.isSuccess ? common.missing.wait : moves.none && words.nothing,
        onAct: () => setReviewing(true),
      }}
    >
      <p className={css.soft}>{words.editLead}</p>
      {moved && <p role="status">{words.conflict}</p>}
      {held.isPending && <Loading />}
      {held.isError && <Problem error={asError(held.error)} onRetry={() => void held.refetch()} />}
      {held.isSuccess && (
        <RoleChoice
          roles={roles}
          chosen={chosen}
          onChosen={choose}
          marked={marked}
          ends={shown}
          onEnd={(code, endsAt) => {
            choose(chosen);
            setEnds(new Map(ends).set(code, endsAt));
          }}
          zone={user.data?.data.timezone}
        />
      )}
      {!moves.none && <Moves {...moves} />}
    </Dialog>
  );
}

/** A role of a set to write: without an end that was chosen it keeps the window that it has. */
function roleWith(role: string, endsAt: string | null | undefined): string | { role: string; endsAt: string | null } {
  return endsAt === undefined ? role : { role, endsAt };
}

interface RoleMoves {
  readonly added: readonly GivenRole[];
  readonly removed: readonly string[];
  /** Held before and after, with another end. */
  readonly changed: readonly GivenRole[];
  readonly none: boolean;
}
interface GivenRole {
  readonly code: string;
  readonly window: GrantWindow;
}

function movesOf(
  added: readonly string[],
  removed: readonly string[],
  chosen: readonly string[],
  windows: ReadonlyMap<string, GrantWindow>,
  ends: Ends,
): RoleMoves {
  const given = (code: string): GivenRole => ({
    code,
    window: { startsAt: windows.get(code)?.startsAt ?? null, endsAt: ends.get(code) ?? null },
  });
  const changed = chosen.filter((code) => windows.has(code) && windows.get(code)?.endsAt !== ends.get(code));
  return {
    added: added.map(given),
    removed,
    changed: changed.map(given),
    none: added.length + removed.length + changed.length === 0,
  };
}

function Moves({ added, removed, changed }: RoleMoves) {
  const { applications, common } = useWords();
  const words = applications.people;
  const said = useWindowText();
  const text = (roles: readonly GivenRole[]) =>
    roles.map(({ code, window }) => [code, said(window)].filter((part) => part !== '').join(' ')).join(', ');
  return (
    <div className={css.summary}>
      {added.length > 0 && (
        <p>
          <Badge tone="good">{words.gets}</Badge> {text(added)}
        </p>
      )}
      {changed.map((role) => (
        <p key={role.code}>
          <Badge>{common.window.end}</Badge>{' '}
          {said(role.window) === '' ? `${role.code} ${common.window.never}` : text([role])}
        </p>
      ))}
      {removed.length > 0 && (
        <p>
          <Badge tone="bad">{words.loses}</Badge> {removed.join(', ')}
        </p>
      )}
    </div>
  );
}
