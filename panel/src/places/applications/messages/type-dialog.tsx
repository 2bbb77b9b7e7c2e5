import type { NotificationType } from '../../../../../src/gen/api.ts';
import { call } from '../../../api/call.ts';
import { useEdited } from '../../../api/edited.ts';
import { useWrite } from '../../../api/writes.ts';
import { named } from '../../../parts/code-of.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { faultOf, Switch, TextArea, TextField } from '../../../parts/field.tsx';
import { Problem } from '../../../parts/problem.tsx';
import { useWords } from '../../../words/words.ts';

interface TypeDialogProps {
  readonly appCode: string;
  /** Null for a new one. */
  readonly type: NotificationType | null;
  readonly onClose: () => void;
}

const SWITCHES = [
  'emailEnabled',
  'pushEnabled',
  'userCanDisable',
  'defaultEmail',
  'defaultPush',
  'selfServiceEnabled',
] as const;

function draftOf(type: NotificationType | null) {
  return {
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
  };
}
type Draft = ReturnType<typeof draftOf>;

/** Fields as they are stored: an empty text is none. */
function bodyOf({ description, emailFromName, ...rest }: Partial<Draft>) {
  return {
    ...rest,
    ...(description === undefined ? {} : { description: description || null }),
    ...(emailFromName === undefined ? {} : { emailFromName: emailFromName || null }),
  };
}

export function TypeDialog({ appCode, type, onClose }: TypeDialogProps) {
  const { applications, common } = useWords();
  const words = applications.messages;
  const { draft, set, settle } = useEdited(() => draftOf(type));
  const writing = useWrite({ done: words.typeSaved(draft.code), refreshes: [`/api/applications/${appCode}`] });
  const labels = { ...words, name: common.name, description: common.description };
  const save = async (): Promise<void> => {
    const path = { appCode };
    const made = await writing.run(async () => {
      if (type === null) {
        const body = { ...draft, ...bodyOf(draft) };
        return await call('POST /api/applications/{appCode}/notification-types', { path, body });
      }
      const { id } = type;
      const read = async () => {
        const { data } = await call('GET /api/applications/{appCode}/notification-types', { path });
        const now = data.find((one) => one.id === id);
        return now && draftOf(now);
      };
      const body = bodyOf(await settle(read, labels));
      return await call('PUT /api/applications/{appCode}/notification-types/{id}', { path: { ...path, id }, body });
    });
    if (made) onClose();
  };
  const { error } = writing;
  return (
    <Dialog
      title={type === null ? words.newType : words.editType(type.code)}
      onClose={onClose}
      act={{ label: type === null ? common.create : common.save, busy: writing.busy }}
      onSubmit={() => void save()}
    >
      <TextField
        label={common.name}
        value={draft.name}
        fault={faultOf(error, 'name')}
        required
        onText={(name) => set(type === null ? named(draft, name) : { name })}
      />
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
      <Problem error={error} />
    </Dialog>
  );
}
