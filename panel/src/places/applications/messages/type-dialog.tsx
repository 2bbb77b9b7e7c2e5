import { type FormEvent, useState } from 'react';
import { call } from '../../../api/call.ts';
import { useWrite } from '../../../api/writes.ts';
import { Button } from '../../../parts/button.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { faultOf, Switch, TextArea, TextField } from '../../../parts/field.tsx';
import { Problem } from '../../../parts/problem.tsx';
import { useWords } from '../../../words/words.ts';
import css from './messages.module.css';
import type { NotificationType } from './types.tsx';

interface TypeDialogProps {
  readonly appCode: string;
  /** Null for a new one. */
  readonly type: NotificationType | null;
  readonly onClose: () => void;
}

const FORM = 'type-form';
const SWITCHES = [
  'emailEnabled',
  'pushEnabled',
  'userCanDisable',
  'defaultEmail',
  'defaultPush',
  'selfServiceEnabled',
] as const;

export function TypeDialog({ appCode, type, onClose }: TypeDialogProps) {
  const { applications, common } = useWords();
  const words = applications.messages;
  const [draft, setDraft] = useState({
    code: type?.code ?? '',
    name: type?.name ?? '',
    description: type?.description ?? '',
    emailFromName: type?.emailFromName ?? '',
    emailEnabled: type?.emailEnabled ?? true,
    pushEnabled: type?.pushEnabled ?? true,
    userCanDisable: type?.userCanDisable ?? true,
    defaultEmail: type?.defaultEmail ?? true,
    defaultPush: type?.defaultPush ?? true,
    selfServiceEnabled: type?.selfServiceEnabled ?? true,
  });
  const writing = useWrite({ done: words.typeSaved(draft.code), refreshes: [`/api/applications/${appCode}`] });
  const set = (change: Partial<typeof draft>) => setDraft({ ...draft, ...change });
  const save = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const body = { ...draft, description: draft.description || null, emailFromName: draft.emailFromName || null };
    const made = await writing.run(() =>
      type === null
        ? call('POST /api/applications/{appCode}/notification-types', { path: { appCode }, body })
        : call('PUT /api/applications/{appCode}/notification-types/{id}', { path: { appCode, id: type.id }, body }),
    );
    if (made) onClose();
  };
  const { error } = writing;
  return (
    <Dialog
      title={type === null ? words.newType : words.editType(type.code)}
      dismissible={false}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button kind="primary" type="submit" form={FORM} busy={writing.busy}>
            {common.save}
          </Button>
        </>
      }
    >
      <form id={FORM} className={css.form} onSubmit={(event) => void save(event)}>
        {type === null && (
          <TextField
            label={common.code}
            value={draft.code}
            hint={words.typeCode}
            fault={faultOf(error, 'code')}
            required
            onText={(code) => set({ code })}
          />
        )}
        <TextField
          label={common.name}
          value={draft.name}
          fault={faultOf(error, 'name')}
          required
          onText={(name) => set({ name })}
        />
        <TextArea
          label={common.description}
          value={draft.description}
          rows={2}
          fault={faultOf(error, 'description')}
          onText={(description) => set({ description })}
        />
        <TextField
          label={words.emailFromName}
          value={draft.emailFromName}
          hint={words.emailFromNameHint}
          fault={faultOf(error, 'emailFromName')}
          onText={(emailFromName) => set({ emailFromName })}
        />
        {SWITCHES.map((name) => (
          <Switch key={name} label={words[name]} checked={draft[name]} onChecked={(on) => set({ [name]: on })} />
        ))}
      </form>
      <Problem error={error} />
    </Dialog>
  );
}
