import { useState } from 'react';
import { call } from '../../../api/call.ts';
import { asError } from '../../../api/error.ts';
import { useRead } from '../../../api/queries.ts';
import { Badge } from '../../../parts/badge.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { ImpactReview } from '../../../parts/impact.tsx';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { useWords } from '../../../words/words.ts';
import { differences } from './chosen.ts';
import css from './people.module.css';
import { type Role, RoleChoice } from './role-choice.tsx';

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
  const now = new Set((held.data?.data ?? []).map(({ code }) => code));
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
  if (reviewing) {
    return (
      <ImpactReview
        title={words.editOf(email)}
        operation="PUT /api/users/{email}/apps/{appCode}/roles"
        input={{ path, body: { roles: [...chosen] } }}
        ifMatch={held.data?.etag ?? undefined}
        summary={<Moves added={added} removed={removed} />}
        done={words.changed(email)}
        undo={(bound) =>
          call('PUT /api/users/{email}/apps/{appCode}/roles', { path, body: { roles: [...now] } }, bound)
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
        disabled: !held.isSuccess ? common.missing.wait : added.length + removed.length === 0 && words.nothing,
        onAct: () => setReviewing(true),
      }}
    >
      <p className={css.soft}>{words.editLead}</p>
      {moved && <p role="status">{words.conflict}</p>}
      {held.isPending && <Loading />}
      {held.isError && <Problem error={asError(held.error)} onRetry={() => void held.refetch()} />}
      {held.isSuccess && <RoleChoice roles={roles} chosen={chosen} onChosen={choose} marked={marked} />}
      {added.length + removed.length > 0 && <Moves added={added} removed={removed} />}
    </Dialog>
  );
}

function Moves({ added, removed }: { added: readonly string[]; removed: readonly string[] }) {
  const { people: words } = useWords().applications;
  return (
    <div className={css.summary}>
      {added.length > 0 && (
        <p>
          <Badge tone="good">{words.gets}</Badge> {added.join(', ')}
        </p>
      )}
      {removed.length > 0 && (
        <p>
          <Badge tone="bad">{words.loses}</Badge> {removed.join(', ')}
        </p>
      )}
    </div>
  );
}
