import { useDeferredValue, useState } from 'react';
import { call } from '../../api/call.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { SelectField, TextField } from '../../parts/field.tsx';
import { ImpactReview } from '../../parts/impact.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { mayWriteIn } from '../../shell/panel-app.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import css from './dialogs.module.css';
import {
  bodyOf,
  type Choice,
  choicesOf,
  isChanged,
  type OverrideDraft,
  rowsOf,
  type StoredOverride,
} from './override-draft.ts';

const PERMISSIONS = '/api/users/{email}/apps/{appCode}/resources/{resourceType}/{resourceId}/permissions';

interface EditOverrideProps {
  readonly email: string;
  readonly start: { readonly app?: string; readonly resourceType?: string; readonly resourceId?: string };
  readonly onClose: () => void;
}

/** What is different for a person and one record: which record, which level of each permission, what follows. */
export function EditOverride({ email, start, onClose }: EditOverrideProps) {
  const { people: words, common } = useWords();
  const rights = useRights();
  const [app, setApp] = useState(start.app ?? '');
  const [resourceType, setType] = useState(start.resourceType ?? '');
  const [resourceId, setId] = useState(start.resourceId ?? '');
  const [draft, setDraft] = useState<OverrideDraft>({});
  const [reviewing, setReviewing] = useState(false);
  const applications = useRead('GET /api/applications', {});
  const codes = (applications.data?.data ?? []).filter(({ code }) => mayWriteIn(rights, code));
  const appCode = app || (codes[0]?.code ?? '');
  const asked = useDeferredValue({ appCode, resourceType: resourceType.trim(), resourceId: resourceId.trim() });
  const isComplete = appCode !== '' && asked.resourceType !== '' && asked.resourceId !== '';
  const path = { email, ...asked };
  const stored = useRead(`GET ${PERMISSIONS}`, { path }, { enabled: isComplete });
  const overrides = stored.data?.data.permissions ?? [];
  const rows = rowsOf(overrides, draft);
  if (reviewing) {
    return (
      <ImpactReview
        title={words.overrideOf(email, `${asked.resourceType}:${asked.resourceId}`)}
        operation={`PUT ${PERMISSIONS}`}
        input={{ path, body: { permissions: bodyOf(rows) } }}
        ifMatch={stored.data?.etag ?? undefined}
        done={words.overrideChanged}
        undo={(bound) =>
          call(`PUT ${PERMISSIONS}`, { path, body: { permissions: bodyOf(rowsOf(overrides, {})) } }, bound)
        }
        onClose={() => {
          setReviewing(false);
          void stored.refetch();
        }}
        onDone={onClose}
      />
    );
  }
  const choose = (change: Partial<{ app: string; type: string; id: string }>): void => {
    if (change.app !== undefined) {
      setApp(change.app);
      setDraft({});
    }
    if (change.type !== undefined || change.app !== undefined) setType(change.type ?? '');
    if (change.id !== undefined) setId(change.id);
  };
  return (
    <Dialog
      title={words.overrideTitleOf(email)}
      onClose={onClose}
      dismissible={Object.keys(draft).length === 0}
      actions={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button
            kind="primary"
            disabled={!stored.isSuccess || !isChanged(overrides, draft)}
            onClick={() => setReviewing(true)}
          >
            {common.review}
          </Button>
        </>
      }
    >
      <p className={css.soft}>{words.overrideWhy}</p>
      <SelectField
        label={common.application}
        value={appCode}
        options={codes.map(({ code, name }) => [code, name === code ? code : `${name} (${code})`] as const)}
        onText={(code) => choose({ app: code })}
      />
      {appCode !== '' && <RecordFields app={appCode} type={resourceType} id={resourceId} onChoose={choose} />}
      {isComplete && stored.isPending && <Loading rows={2} />}
      {isComplete && stored.isError && <Problem error={asError(stored.error)} />}
      {isComplete && stored.isSuccess && <Choices app={appCode} stored={overrides} draft={draft} onDraft={setDraft} />}
    </Dialog>
  );
}

interface RecordFieldsProps {
  readonly app: string;
  readonly type: string;
  readonly id: string;
  readonly onChoose: (change: { type?: string; id?: string }) => void;
}

/** Of an application with entities one of them; else whatever it calls its records. */
function RecordFields({ app, type, id, onChoose }: RecordFieldsProps) {
  const { people: words } = useWords();
  const entities = useRead('GET /api/applications/{appCode}/entities', { path: { appCode: app } });
  const known = entities.data?.data ?? [];
  const entity = known.find(({ code }) => code === type);
  if (entities.isPending) return <Loading rows={1} />;
  return (
    <div className={css.pair}>
      {known.length > 0 ? (
        <SelectField
          label={words.recordType}
          value={type}
          options={[['', words.choose], ...known.map(({ code, name }) => [code, `${name} (${code})`] as const)]}
          onText={(code) => onChoose({ type: code })}
        />
      ) : (
        <TextField label={words.recordType} value={type} maxLength={100} onText={(code) => onChoose({ type: code })} />
      )}
      <TextField
        label={entity?.idLabel || words.recordId}
        value={id}
        maxLength={255}
        onText={(text) => onChoose({ id: text })}
      />
    </div>
  );
}

interface ChoicesProps {
  readonly app: string;
  readonly stored: readonly StoredOverride[];
  readonly draft: OverrideDraft;
  readonly onDraft: (draft: OverrideDraft) => void;
}

function Choices({ app, stored, draft, onDraft }: ChoicesProps) {
  const { people: words, common } = useWords();
  const permissions = useRead('GET /api/applications/{appCode}/permissions', { path: { appCode: app } });
  if (permissions.data === undefined) return <Loading rows={2} />;
  const rows = rowsOf(stored, draft);
  // A global permission takes no overrides.
  const all = permissions.data.data.filter(({ global }) => !global);
  const offered = all.filter(({ code }) => !rows.some(([row]) => row === code));
  const typeOf = (code: string) => all.find((one) => one.code === code)?.type ?? 'tiered';
  const label = (choice: Choice) => (choice === 'roles' ? words.asRoles : common.levels[choice]);
  return (
    <>
      {rows.map(([code, choice]) => (
        <SelectField
          key={code}
          label={code}
          value={choice}
          options={choicesOf(typeOf(code)).map((one) => [one, label(one)] as const)}
          onText={(value) => onDraft({ ...draft, [code]: value as Choice })}
        />
      ))}
      {offered.length > 0 && (
        <SelectField
          label={words.addPermission}
          value=""
          options={[['', words.choose], ...offered.map(({ code }) => [code, code] as const)]}
          onText={(code) => onDraft({ ...draft, [code]: typeOf(code) === 'tiered' ? 'view' : 'allowed' })}
        />
      )}
    </>
  );
}
