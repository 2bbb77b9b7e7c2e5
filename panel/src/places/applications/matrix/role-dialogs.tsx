import { useState } from 'react';
import { useLocation } from 'wouter';
import { call } from '../../../api/call.ts';
import { useEdited } from '../../../api/edited.ts';
import { useWrite } from '../../../api/writes.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { faultOf, TextArea, TextField } from '../../../parts/field.tsx';
import { ImpactReview } from '../../../parts/impact.tsx';
import { PeopleField, usePasted } from '../../../parts/people-field.tsx';
import { Problem } from '../../../parts/problem.tsx';
import { useWords } from '../../../words/words.ts';
import css from '../applications.module.css';
import type { RoleRecord } from './table.ts';

interface RoleDialogProps {
  readonly appCode: string;
  readonly role: RoleRecord;
  readonly onClose: () => void;
}

/** Gives a role to many people: their addresses first, then what it changes. */
export function AddPeople({ appCode, role, onClose }: RoleDialogProps) {
  const { common, applications } = useWords();
  const words = applications.matrix;
  const [text, setText] = useState('');
  const [reviewing, setReviewing] = useState(false);
  const { emails: addresses, fault } = usePasted(text);
  const path = { appCode, roleId: String(role.id) };
  if (reviewing) {
    return (
      <ImpactReview
        title={words.addTitle(role.code)}
        operation="POST /api/applications/{appCode}/roles/{roleId}/users"
        input={{ path, body: { add: [...addresses] } }}
        summary={<p>{words.addresses(addresses.length)}</p>}
        done={words.added(addresses.length)}
        refreshes={[`/api/applications/${appCode}`, '/api/users']}
        onClose={() => setReviewing(false)}
        onDone={onClose}
      />
    );
  }
  return (
    <Dialog
      title={words.addTitle(role.code)}
      dirty={text !== ''}
      onClose={onClose}
      act={{
        label: common.review,
        disabled: fault ?? (addresses.length === 0 && common.missing.address),
        onAct: () => setReviewing(true),
      }}
    >
      <PeopleField label={common.email} hint={words.addHint} value={text} autoFocus onText={setText} />
    </Dialog>
  );
}

export function RemovePeople({
  appCode,
  role,
  emails,
  onClose,
  onDone,
}: RoleDialogProps & { emails: readonly string[]; onDone: () => void }) {
  const { matrix: words } = useWords().applications;
  const path = { appCode, roleId: String(role.id) };
  const operation = 'POST /api/applications/{appCode}/roles/{roleId}/users';
  return (
    <ImpactReview
      title={words.removeTitle(role.code)}
      operation={operation}
      input={{ path, body: { remove: [...emails] } }}
      summary={<p>{emails.length > 5 ? words.addresses(emails.length) : emails.join(', ')}</p>}
      confirm={words.removePeople(emails.length)}
      danger
      done={words.removed(emails.length)}
      undo={(bound) => call(operation, { path, body: { add: [...emails] } }, bound)}
      refreshes={[`/api/applications/${appCode}`, '/api/users']}
      onClose={onClose}
      onDone={onDone}
    />
  );
}

interface RoleDraft {
  readonly name: string;
  readonly description: string;
}

function draftOf({ name, description }: Pick<RoleRecord, 'name' | 'description'>): RoleDraft {
  return { name: name ?? '', description: description ?? '' };
}

function bodyOf({ name, description }: RoleDraft) {
  return { name: name.trim() || null, description: description.trim() === '' ? null : description };
}

export function EditRole({ appCode, role, onClose }: RoleDialogProps) {
  const { common, applications } = useWords();
  const words = applications.matrix;
  const { base, draft, isChanged, set, settle } = useEdited(() => draftOf(role));
  const path = { appCode, roleId: String(role.id) };
  const operation = 'PUT /api/applications/{appCode}/roles/{roleId}';
  const before = bodyOf(base);
  const writing = useWrite({
    done: common.saved,
    refreshes: [`/api/applications/${appCode}`],
    undo: (bound) => call(operation, { path, body: before }, bound),
  });
  const save = async (): Promise<void> => {
    const body = bodyOf(draft);
    const read = async () => {
      const { data } = await call('GET /api/applications/{appCode}/roles', { path: { appCode } });
      const now = data.find(({ id }) => id === role.id);
      return now && draftOf(now);
    };
    const labels = { name: common.name, description: common.description };
    const made = await writing.run(async () => {
      await settle(read, labels);
      return await call(operation, { path, body });
    });
    if (made) onClose();
  };
  const faults = ['name', 'description'].map((path) => faultOf(writing.error, path));
  return (
    <Dialog
      title={words.editRole}
      dirty={isChanged}
      onClose={onClose}
      act={{ label: common.save, busy: writing.busy, onAct: () => void save() }}
    >
      <p className={css.soft}>{words.editRoleHint}</p>
      <TextField
        label={common.name}
        fault={faults[0]}
        value={draft.name}
        onText={(name) => set({ name })}
        maxLength={200}
        autoFocus
      />
      <TextArea
        label={common.description}
        fault={faults[1]}
        value={draft.description}
        onText={(description) => set({ description })}
        maxLength={2_000}
        rows={4}
      />
      {faults.every((fault) => fault === null) && <Problem error={writing.error} />}
    </Dialog>
  );
}

export function DeleteRole({ appCode, role, onClose }: RoleDialogProps) {
  const { matrix: words } = useWords().applications;
  const [, navigate] = useLocation();
  return (
    <ImpactReview
      title={words.deleteRoleTitle(role.code)}
      operation="DELETE /api/applications/{appCode}/roles/{roleId}"
      input={{ path: { appCode, roleId: String(role.id) } }}
      summary={<p>{words.deleteRoleHint(role.holders)}</p>}
      confirm={words.deleteRole}
      danger
      done={words.roleDeleted(role.code)}
      // Not what is below the role: asked for again it would be a 404.
      refreshes={['GET /api/applications/{appCode}/matrix', 'GET /api/applications', '/api/users']}
      onClose={onClose}
      onDone={() => navigate(`/applications/${encodeURIComponent(appCode)}/matrix`)}
    />
  );
}
