import type { Entity } from '../../../../../src/gen/api.ts';
import { call } from '../../../api/call.ts';
import { useEdited } from '../../../api/edited.ts';
import { ApiError } from '../../../api/error.ts';
import { useWrite } from '../../../api/writes.ts';
import { named } from '../../../parts/code-of.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { faultOf, Switch, TextArea, TextField } from '../../../parts/field.tsx';
import { Problem } from '../../../parts/problem.tsx';
import { useWords } from '../../../words/words.ts';

interface EntityDialogProps {
  readonly appCode: string;
  /** Null for a new one. */
  readonly entity: Entity | null;
  readonly onClose: () => void;
}

const FIELDS = ['code', 'name', 'description', 'idLabel', 'listEndpoint', 'listSearch'];

function draftOf(entity: Entity | null) {
  return {
    code: entity?.code ?? '',
    name: entity?.name ?? '',
    description: entity?.description ?? '',
    idLabel: entity?.idLabel ?? '',
    listEndpoint: entity?.listEndpoint ?? '',
    listSearch: entity?.listSearch ?? false,
  };
}
type Draft = ReturnType<typeof draftOf>;

/** Fields as they are stored: an empty text is none. */
function bodyOf({ description, idLabel, listEndpoint, ...rest }: Partial<Draft>) {
  return {
    ...rest,
    ...(description === undefined ? {} : { description: description || null }),
    ...(idLabel === undefined ? {} : { idLabel: idLabel || null }),
    ...(listEndpoint === undefined ? {} : { listEndpoint: listEndpoint || null }),
  };
}

export function EntityDialog({ appCode, entity, onClose }: EntityDialogProps) {
  const { applications, common } = useWords();
  const words = applications.records;
  const { draft, set, settle } = useEdited(() => draftOf(entity));
  const writing = useWrite({ done: words.entitySaved(draft.code), refreshes: [`/api/applications/${appCode}`] });
  const labels = { ...words, code: common.code, name: common.name, description: common.description };
  const save = async (): Promise<void> => {
    const path = { appCode };
    const made = await writing.run(async () => {
      if (entity === null) {
        const body = { ...draft, ...bodyOf(draft) };
        return await call('POST /api/applications/{appCode}/entities', { path, body });
      }
      const { id } = entity;
      const read = async () => {
        const { data } = await call('GET /api/applications/{appCode}/entities', { path });
        const now = data.find((one) => one.id === id);
        return now && draftOf(now);
      };
      const body = bodyOf(await settle(read, labels));
      return await call('PUT /api/applications/{appCode}/entities/{id}', { path: { ...path, id }, body });
    });
    if (made) onClose();
  };
  // What stands at a field is not said twice.
  const atFields =
    writing.error instanceof ApiError &&
    writing.error.issues.length > 0 &&
    writing.error.issues.every(({ path }) => FIELDS.includes(path.split('.')[0] ?? ''));
  return (
    <Dialog
      title={entity === null ? words.newEntity : words.editEntity(entity.code)}
      onClose={onClose}
      act={{ label: entity === null ? common.create : common.save, busy: writing.busy }}
      onSubmit={() => void save()}
    >
      <TextField
        label={common.name}
        value={draft.name}
        fault={faultOf(writing.error, 'name')}
        required
        autoFocus
        onText={(name) => set(entity === null ? named(draft, name) : { name })}
      />
      <TextField
        label={common.code}
        value={draft.code}
        hint={words.entityCode}
        fault={faultOf(writing.error, 'code')}
        required
        onText={(code) => set({ code })}
      />
      <TextArea
        label={common.description}
        value={draft.description}
        rows={2}
        fault={faultOf(writing.error, 'description')}
        onText={(description) => set({ description })}
      />
      <TextField
        label={words.idLabel}
        value={draft.idLabel}
        hint={words.idLabelHint}
        fault={faultOf(writing.error, 'idLabel')}
        onText={(idLabel) => set({ idLabel })}
      />
      <TextField
        label={words.listEndpoint}
        value={draft.listEndpoint}
        type="url"
        hint={words.listEndpointHint}
        fault={faultOf(writing.error, 'listEndpoint')}
        onText={(listEndpoint) => set({ listEndpoint })}
      />
      {draft.listEndpoint !== '' && (
        <Switch
          label={words.listSearch}
          hint={words.listSearchHint}
          checked={draft.listSearch}
          onChecked={(listSearch) => set({ listSearch })}
        />
      )}
      {!atFields && <Problem error={writing.error} />}
    </Dialog>
  );
}
