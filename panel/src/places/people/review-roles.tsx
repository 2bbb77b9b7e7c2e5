import { useQuery } from '@tanstack/react-query';
import { useId, useRef, useState } from 'react';
import type { Impact } from '../../../../src/gen/api.ts';
import { undoBound } from '../../api/bound.ts';
import { type CallOptions, call, rehearse } from '../../api/call.ts';
import { asError, isStale } from '../../api/error.ts';
import { useWrite } from '../../api/writes.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ImpactView } from '../../parts/impact.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { ReasonField } from '../../parts/reason-field.tsx';
import { windowOf } from '../../parts/until.ts';
import { useWords } from '../../words/words.ts';
import css from './dialogs.module.css';
import { DraftView } from './draft-view.tsx';
import { type RoleDraft, rolesToWrite } from './role-draft.ts';

type Roles = readonly (
  | string
  | { readonly role: string; readonly startsAt?: string | null; readonly endsAt: string | null }
)[];

/** The set of roles to write in one application, the one that it replaces, and what follows. */
interface Step {
  readonly app: string;
  readonly before: Roles;
  readonly after: Roles;
  /** Of the roles that it replaces. */
  readonly etag: string | null;
  readonly impact: Impact;
}
/** A step that is written, and what binds its undo to the state that it left. */
interface Made extends Step {
  readonly bound: CallOptions;
}

interface ReviewRolesProps {
  readonly email: string;
  readonly draft: RoleDraft;
  /** Back to the draft; `made` names the applications that are already written. */
  readonly onBack: (made: readonly string[]) => void;
  readonly onClose: () => void;
}

const SET_ROLES = 'PUT /api/users/{email}/apps/{appCode}/roles';

/**
 * Who gains and who loses, by application; then one write for each, bound to the revision of its rehearsal. Applications do not
 * concern each other, so one that fails leaves the others as they are, and the dialog names it.
 */
export function ReviewRoles({ email, draft, onBack, onClose }: ReviewRolesProps) {
  const { people: words, impact, common, problem } = useWords();
  const id = useId();
  const [stale, setStale] = useState(false);
  const [reason, setReason] = useState('');
  const made = useRef<Made[]>([]);
  const rehearsed = useQuery({
    queryKey: ['rehearse roles', id],
    queryFn: ({ signal }) => rehearsal(email, draft, made.current, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  const writing = useWrite(() => ({
    done: words.rolesChanged(email),
    undo: () => undoAll(email, made.current, problem.undoStaleIn),
  }));
  const apply = async (): Promise<void> => {
    setStale(false);
    const done = await writing.run(async () => {
      for (const step of rehearsed.data ?? []) {
        if (made.current.some(({ app }) => app === step.app)) continue;
        const { app, after, etag, impact: shown } = step;
        try {
          const bound = { ifMatch: etag ?? undefined, ifRevision: shown.revision, reason };
          made.current.push({ ...step, bound: undoBound(await write(email, app, after, bound)) });
        } catch (error) {
          if (isStale(error)) {
            setStale(true);
            await rehearsed.refetch();
          }
          throw error;
        }
      }
    });
    if (done) onClose();
  };
  return (
    <Dialog
      title={words.changeRolesOf(email)}
      wide
      onClose={writing.busy ? null : onClose}
      actions={
        <>
          <Button onClick={() => onBack(made.current.map(({ app }) => app))}>{words.back}</Button>
          <Button
            kind="primary"
            busy={writing.busy}
            disabled={!rehearsed.isSuccess && common.missing.wait}
            onClick={() => void apply()}
          >
            {impact.confirm}
          </Button>
        </>
      }
    >
      <DraftView draft={draft} />
      {writing.error !== null && made.current.length > 0 && (
        <p role="status">{words.madeIn(made.current.map(({ app }) => app).join(', '))}</p>
      )}
      {stale ? <p role="status">{impact.stale}</p> : <Problem error={writing.error} />}
      <h3>{impact.title}</h3>
      {rehearsed.isPending && <Loading />}
      {rehearsed.isError && <Problem error={asError(rehearsed.error)} onRetry={() => void rehearsed.refetch()} />}
      {rehearsed.data?.map((step) => (
        <section key={step.app} aria-label={step.app}>
          <h4 className={css.app}>
            {common.application} <code>{step.app}</code>
          </h4>
          <ImpactView impact={step.impact} />
        </section>
      ))}
      <ReasonField value={reason} onText={setReason} />
    </Dialog>
  );
}

/** Rehearses what is not written yet, upon what the person holds now. */
function rehearsal(email: string, draft: RoleDraft, made: readonly Step[], signal: AbortSignal): Promise<Step[]> {
  const open = [...draft].filter(([app]) => !made.some((step) => step.app === app));
  return Promise.all(
    open.map(async ([appCode, changes]): Promise<Step> => {
      const path = { email, appCode };
      const held = await call('GET /api/users/{email}/apps/{appCode}/roles', { path }, { signal });
      const before = held.data.map((role) => ({ role: role.code, ...windowOf(role) }));
      const after = rolesToWrite(
        held.data.map(({ code }) => code),
        changes,
      );
      const { etag } = held;
      const options = { signal, ifMatch: etag ?? undefined };
      const { impact } = await rehearse(SET_ROLES, { path, body: { roles: [...after] } }, options);
      return { app: appCode, before, after, etag, impact };
    }),
  );
}

function write(email: string, appCode: string, roles: Roles, options: CallOptions): Promise<unknown> {
  return call(SET_ROLES, { path: { email, appCode }, body: { roles: [...roles] } }, options);
}

/** Takes back what nobody else has changed meanwhile, and throws an Error that names the rest. */
async function undoAll(email: string, made: readonly Made[], saying: (apps: string) => string): Promise<void> {
  const stale: string[] = [];
  for (const { app, before, bound } of made) {
    try {
      await write(email, app, before, bound);
    } catch (error) {
      if (!isStale(error)) throw error;
      stale.push(app);
    }
  }
  if (stale.length > 0) throw new Error(saying(stale.join(', ')));
}
