import { useId, useState } from 'react';
import type { Item } from '../../../../../src/gen/api.ts';
import { type CallOptions, call } from '../../../api/call.ts';
import { useEdited } from '../../../api/edited.ts';
import { changedIn } from '../../../api/merge.ts';
import { useWrite } from '../../../api/writes.ts';
import { ComboField } from '../../../parts/combo-field.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { faultOf, SelectField, Switch, TextArea, TextField } from '../../../parts/field.tsx';
import { ImpactReview } from '../../../parts/impact.tsx';
import { Problem } from '../../../parts/problem.tsx';
import type { Text } from '../../../words/places.ts';
import { useWords } from '../../../words/words.ts';

export type Permission = Item<'GET /api/applications/{appCode}/permissions'>;

interface PermissionFields {
  readonly code: string;
  readonly type: Permission['type'];
  readonly groupName: string;
  readonly parent: string;
  readonly description: string;
  readonly global: boolean;
}

interface FormProps {
  readonly appCode: string;
  /** All of the application: their groups and codes are suggested. */
  readonly permissions: readonly Permission[];
  readonly onClose: () => void;
}

const EMPTY: PermissionFields = { code: '', type: 'tiered', groupName: '', parent: '', description: '', global: false };
/** As many suggestions as can be looked through. */
const SUGGESTED = 50;

export function NewPermission({ appCode, permissions, onClose }: FormProps) {
  const { applications, common } = useWords();
  const words = applications.permissions;
  const [fields, setFields] = useState(EMPTY);
  const writing = useWrite({ done: words.made(fields.code), refreshes: [`/api/applications/${appCode}`] });
  const create = async (): Promise<void> => {
    const body = { code: fields.code, type: fields.type, ...bodyOf(fields, fields) };
    const made = await writing.run(() =>
      call('POST /api/applications/{appCode}/permissions', { path: { appCode }, body }),
    );
    if (made) onClose();
  };
  return (
    <PermissionDialog
      title={words.new}
      fields={fields}
      onFields={setFields}
      permissions={permissions}
      error={writing.error}
      busy={writing.busy}
      submit={common.create}
      onSubmit={() => void create()}
      onClose={onClose}
      isNew
    />
  );
}

/** Words are saved at once; what may change who holds it is reviewed first. */
export function EditPermission({ appCode, permission, permissions, onClose }: FormProps & { permission: Permission }) {
  const all = useWords();
  const { applications, common } = all;
  const words = applications.permissions;
  const { base, draft: fields, set, settle } = useEdited(() => fieldsOf(permission, permissions));
  // What is reviewed, once it is known not to undo what somebody else has done meanwhile.
  const [reviewed, setReviewed] = useState<ReturnType<typeof bodyOf> | null>(null);
  const path = { appCode, permissionId: String(permission.id) };
  const operation = 'PUT /api/applications/{appCode}/permissions/{permissionId}';
  const refreshes = [`/api/applications/${appCode}`];
  const undo = (bound: CallOptions) => call(operation, { path, body: bodyOf(base, changedIn(fields, base)) }, bound);
  const writing = useWrite({ done: common.saved, refreshes, undo });
  const checking = useWrite({ refreshes: [] });
  const changes = async () => {
    const read = async () => {
      const { data } = await call('GET /api/applications/{appCode}/permissions', { path: { appCode } });
      const now = data.find(({ id }) => id === permission.id);
      return now && fieldsOf(now, data);
    };
    const changed = await settle(read, labelsOf(all));
    return bodyOf({ ...fields, ...changed }, changed);
  };
  const save = async (): Promise<void> => {
    if (await writing.run(async () => await call(operation, { path, body: await changes() }))) onClose();
  };
  const review = () => void checking.run(async () => setReviewed(await changes()));
  const decides = fields.type !== base.type || fields.global !== base.global;
  if (reviewed !== null) {
    return (
      <ImpactReview
        title={words.edit(permission.code)}
        operation={operation}
        input={{ path, body: reviewed }}
        done={common.saved}
        refreshes={refreshes}
        onClose={() => setReviewed(null)}
        onDone={onClose}
      />
    );
  }
  return (
    <PermissionDialog
      title={words.edit(permission.code)}
      fields={fields}
      onFields={set}
      permissions={permissions}
      error={writing.error ?? checking.error}
      busy={writing.busy || checking.busy}
      submit={decides ? common.review : common.save}
      onSubmit={() => (decides ? review() : void save())}
      onClose={onClose}
    />
  );
}

interface PermissionDialogProps extends Omit<FormProps, 'appCode'> {
  readonly title: string;
  readonly fields: PermissionFields;
  readonly onFields: (fields: PermissionFields) => void;
  readonly error: Error | null;
  readonly busy: boolean;
  readonly submit: string;
  readonly onSubmit: () => void;
  readonly isNew?: boolean;
}

const FAULTS = ['code', 'type', 'groupName', 'parentPermission', 'description', 'global'];

function PermissionDialog(props: PermissionDialogProps) {
  const { title, fields, onFields, permissions, error, busy, submit, onSubmit, onClose, isNew = false } = props;
  const { applications, common } = useWords();
  const words = applications.permissions;
  const id = useId();
  const [first] = useState(fields);
  const set = (change: Partial<PermissionFields>) => onFields({ ...fields, ...change });
  const groups = [...new Set(permissions.flatMap(({ groupName }) => groupName ?? []))].sort();
  const fault = (path: string) => faultOf(error, path);
  return (
    <Dialog
      title={title}
      dirty={fields !== first}
      onClose={onClose}
      act={{ label: submit, busy, disabled: fields.code === '' && common.missing.fields([common.code]) }}
      onSubmit={onSubmit}
    >
      {isNew && (
        <TextField
          label={common.code}
          hint={words.codeHint}
          fault={fault('code')}
          value={fields.code}
          onText={(code) => set({ code })}
          maxLength={128}
          autoFocus
          required
        />
      )}
      <SelectField
        label={words.type}
        hint={words.typeHints[fields.type]}
        fault={fault('type')}
        value={fields.type}
        options={(['tiered', 'binary'] as const).map((type) => [type, words.types[type]] as const)}
        onText={(type) => set({ type: type as Permission['type'] })}
      />
      <TextField
        label={words.group}
        hint={words.groupHint}
        fault={fault('groupName')}
        value={fields.groupName}
        onText={(groupName) => set({ groupName })}
        list={`${id}-groups`}
        maxLength={200}
      />
      <datalist id={`${id}-groups`}>
        {groups.slice(0, SUGGESTED).map((group) => (
          <option key={group} value={group} />
        ))}
      </datalist>
      <ComboField
        label={`${words.parent} (${common.optional})`}
        value={fields.parent}
        choices={suggested(permissions, fields)}
        onText={(parent) => set({ parent })}
      />
      {fault('parentPermission') !== null && <Problem error={error} />}
      <TextArea
        label={common.description}
        fault={fault('description')}
        value={fields.description}
        onText={(description) => set({ description })}
        maxLength={2_000}
      />
      <Switch
        label={words.globalLabel}
        hint={words.globalHint}
        checked={fields.global}
        onChecked={(global) => set({ global })}
      />
      {FAULTS.every((path) => fault(path) === null) && <Problem error={error} />}
    </Dialog>
  );
}

function suggested(permissions: readonly Permission[], { code, parent }: PermissionFields) {
  const part = parent.toLowerCase();
  return permissions
    .filter((one) => one.code !== code && one.code.toLowerCase().includes(part))
    .slice(0, SUGGESTED)
    .map((one) => ({ value: one.code, note: one.groupName }));
}

function fieldsOf(permission: Permission, permissions: readonly Permission[]): PermissionFields {
  const { code, type, groupName, parentPermissionId, description, global } = permission;
  const parent = permissions.find(({ id }) => id === parentPermissionId)?.code ?? '';
  return { code, type, groupName: groupName ?? '', parent, description: description ?? '', global };
}

/** The fields of `changed`, as they are written. */
function bodyOf(
  { type, groupName, parent, description, global }: PermissionFields,
  changed: Partial<PermissionFields>,
) {
  const orNull = (text: string) => (text.trim() === '' ? null : text.trim());
  const above = orNull(parent);
  return {
    ...('type' in changed ? { type } : {}),
    ...('groupName' in changed ? { groupName: orNull(groupName) } : {}),
    ...('parent' in changed ? (above === null ? { parentPermissionId: null } : { parentPermission: above }) : {}),
    ...('description' in changed ? { description: orNull(description) } : {}),
    ...('global' in changed ? { global } : {}),
  };
}

function labelsOf({ applications: { permissions: words }, common }: Text) {
  const { type, group: groupName, parent, globalLabel: global } = words;
  return { type, groupName, parent, global, description: common.description };
}
