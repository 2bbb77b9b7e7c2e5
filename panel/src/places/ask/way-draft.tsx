import { useState } from 'react';
import { call } from '../../api/call.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { ImpactReview } from '../../parts/impact.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';
import type { LevelName, Question } from './question.ts';
import type { Way } from './ways.ts';

interface DraftProps<W extends Way = Way> {
  readonly way: W;
  readonly question: Question;
  readonly title: string;
  /** The level that a role gives now. */
  readonly before: LevelName | null;
  readonly onClose: () => void;
}

type Of<K extends Way['kind']> = Extract<Way, { readonly kind: K }>;

/** The draft of one way, with who gains and who loses; applied, it can be undone. */
export function WayDraft({ way, ...rest }: DraftProps) {
  switch (way.kind) {
    case 'set-override':
    case 'deny-override':
    case 'remove-override':
      return <OverrideDraft way={way} {...rest} />;
    case 'give-role':
    case 'take-role':
      return <RoleDraft way={way} {...rest} />;
    case 'set-level':
      return <LevelDraft way={way} {...rest} />;
    case 'make-admin':
    case 'remove-admin':
      return <AdminDraft way={way} {...rest} />;
    case 'make-superadmin':
    case 'remove-superadmin':
      return <SuperAdminDraft way={way} {...rest} />;
    case 'block':
    case 'unblock':
      return <ActiveDraft way={way} {...rest} />;
  }
}

const SET = 'PUT /api/users/{email}/apps/{appCode}/resources/{resourceType}/{resourceId}/permissions';

/** A write of overrides replaces those of a record, so the others are read first and stay. */
function OverrideDraft({
  way,
  question,
  title,
  onClose,
}: DraftProps<Of<'set-override' | 'deny-override' | 'remove-override'>>) {
  const { ask, impact } = useWords();
  const [changed, setChanged] = useState(false);
  const { app: appCode, permission, resourceType, resourceId } = question;
  const path = { email: question.email.trim(), appCode, resourceType, resourceId };
  const current = useRead(
    'GET /api/users/{email}/apps/{appCode}/resources/{resourceType}/{resourceId}/permissions',
    { path },
    { staleTime: 0 },
  );
  if (current.data === undefined || current.isFetching) {
    return (
      <Dialog title={title} onClose={onClose}>
        {current.isError && !current.isFetching ? (
          <Problem error={asError(current.error)} onRetry={() => void current.refetch()} />
        ) : (
          <Loading />
        )}
      </Dialog>
    );
  }
  const now = current.data.data.permissions.map(({ code, granted, accessLevel }) => ({
    permission: code,
    granted,
    ...(granted ? { accessLevel } : {}),
  }));
  const others = now.filter((one) => one.permission !== permission);
  const wanted =
    way.kind === 'remove-override'
      ? others
      : way.kind === 'deny-override'
        ? [...others, { permission, granted: false }]
        : [...others, { permission, granted: true, accessLevel: way.level }];
  return (
    <ImpactReview
      key={current.data.etag}
      title={title}
      operation={SET}
      input={{ path, body: { permissions: wanted } }}
      ifMatch={current.data.etag ?? undefined}
      onStale={() => {
        setChanged(true);
        void current.refetch();
      }}
      summary={changed && <p role="status">{impact.stale}</p>}
      danger={way.kind === 'deny-override'}
      done={ask.ways.done}
      undo={(bound) => call(SET, { path, body: { permissions: now } }, bound)}
      onClose={onClose}
    />
  );
}

const GIVE = 'POST /api/users/{email}/apps/{appCode}/roles';
const TAKE = 'DELETE /api/users/{email}/apps/{appCode}/roles/{roleCode}';

function RoleDraft({ way, question, title, onClose }: DraftProps<Of<'give-role' | 'take-role'>>) {
  const { ask } = useWords();
  const path = { email: question.email.trim(), appCode: question.app };
  const given = { path, body: { role: way.role } };
  const taken = { path: { ...path, roleCode: way.role } };
  const common = { title, done: ask.ways.done, onClose };
  return way.kind === 'give-role' ? (
    <ImpactReview {...common} operation={GIVE} input={given} undo={(bound) => call(TAKE, taken, bound)} />
  ) : (
    <ImpactReview {...common} danger operation={TAKE} input={taken} undo={(bound) => call(GIVE, given, bound)} />
  );
}

function LevelDraft({ way, question, title, before, onClose }: DraftProps<Of<'set-level'>>) {
  const { ask } = useWords();
  const operation = 'PUT /api/applications/{appCode}/matrix';
  const input = (accessLevel: LevelName | null) => ({
    path: { appCode: question.app },
    body: { changes: [{ role: way.role, permission: question.permission, accessLevel }] },
  });
  return (
    <ImpactReview
      title={title}
      operation={operation}
      input={input(way.level)}
      danger={way.level === null}
      done={ask.ways.done}
      undo={(bound) => call(operation, input(before), bound)}
      onClose={onClose}
    />
  );
}

const ADD_ADMIN = 'POST /api/users/admins/apps/{appCode}';
const END_ADMIN = 'DELETE /api/users/admins/apps/{appCode}/{email}';

function AdminDraft({ way, question, title, onClose }: DraftProps<Of<'make-admin' | 'remove-admin'>>) {
  const { ask } = useWords();
  const email = question.email.trim();
  const added = { path: { appCode: question.app }, body: { email } };
  const ended = { path: { appCode: question.app, email } };
  const common = { title, danger: true, done: ask.ways.done, onClose };
  return way.kind === 'make-admin' ? (
    <ImpactReview {...common} operation={ADD_ADMIN} input={added} undo={(bound) => call(END_ADMIN, ended, bound)} />
  ) : (
    <ImpactReview {...common} operation={END_ADMIN} input={ended} undo={(bound) => call(ADD_ADMIN, added, bound)} />
  );
}

const ADD_SUPERADMIN = 'POST /api/users/admins/super';
const END_SUPERADMIN = 'DELETE /api/users/admins/super/{email}';

function SuperAdminDraft({ way, question, title, onClose }: DraftProps<Of<'make-superadmin' | 'remove-superadmin'>>) {
  const { ask } = useWords();
  const email = question.email.trim();
  const added = { body: { email } };
  const ended = { path: { email } };
  const common = { title, danger: true, done: ask.ways.done, onClose };
  return way.kind === 'make-superadmin' ? (
    <ImpactReview
      {...common}
      operation={ADD_SUPERADMIN}
      input={added}
      undo={(bound) => call(END_SUPERADMIN, ended, bound)}
    />
  ) : (
    <ImpactReview
      {...common}
      operation={END_SUPERADMIN}
      input={ended}
      undo={(bound) => call(ADD_SUPERADMIN, added, bound)}
    />
  );
}

function ActiveDraft({ way, question, title, onClose }: DraftProps<Of<'block' | 'unblock'>>) {
  const { ask } = useWords();
  const operation = 'PUT /api/users/{email}/active';
  const input = (active: boolean) => ({ path: { email: question.email.trim() }, body: { active } });
  const active = way.kind === 'unblock';
  return (
    <ImpactReview
      title={title}
      operation={operation}
      input={input(active)}
      danger={!active}
      done={ask.ways.done}
      undo={(bound) => call(operation, input(!active), bound)}
      onClose={onClose}
    />
  );
}
