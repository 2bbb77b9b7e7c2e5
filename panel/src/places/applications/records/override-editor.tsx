import { type ReactNode, useState } from 'react';
import type { Item } from '../../../../../src/gen/api.ts';
import { call } from '../../../api/call.ts';
import { asError } from '../../../api/error.ts';
import { useRead } from '../../../api/queries.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { SelectField, TextField } from '../../../parts/field.tsx';
import { ImpactReview } from '../../../parts/impact.tsx';
import { PersonField } from '../../../parts/person-field.tsx';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { UntilField } from '../../../parts/until-field.tsx';
import { useWindowText } from '../../../parts/window-badge.tsx';
import { useWords } from '../../../words/words.ts';
import {
  type Choice,
  type Choices,
  changesOf,
  choicesFor,
  choicesOf,
  isAddress,
  permissionsOf,
  windowsOf,
  wishesOf,
} from './choices.ts';
import { RecordField } from './record-field.tsx';
import css from './records.module.css';

const READ = 'GET /api/users/{email}/apps/{appCode}/resources/{resourceType}/{resourceId}/permissions';
const WRITE = 'PUT /api/users/{email}/apps/{appCode}/resources/{resourceType}/{resourceId}/permissions';

export interface Place {
  readonly email: string;
  readonly type: string;
  readonly id: string;
}

interface OverrideEditorProps {
  readonly appCode: string;
  readonly entities: readonly Item<'GET /api/applications/{appCode}/entities'>[];
  readonly permissions: readonly Item<'GET /api/applications/{appCode}/permissions'>[];
  readonly at: Place;
  /** What stands first where the person is already known, instead of the field for the person. */
  readonly lead?: ReactNode;
  /** The time zone of the person, where it is known. */
  readonly zone?: string | null | undefined;
  readonly loading?: boolean;
  /** The first changes of the draft, as `permission:choice` with commas between. */
  readonly wish?: string;
  readonly onAt?: (at: Place) => void;
  readonly onClose: () => void;
}

/** One person, one record, and what is different for them. */
export function OverrideEditor(props: OverrideEditorProps) {
  const { appCode, entities, permissions, at, lead, zone, loading = false, wish = '', onAt, onClose } = props;
  const { applications, common } = useWords();
  const words = applications.records;
  const [place, setPlace] = useState<Place>(at);
  const { email, id } = place;
  // The type of the only entity need not be chosen.
  const type = place.type || (entities[0]?.code ?? '');
  const whole = !loading && isAddress(email) && type !== '' && id.trim() !== '';
  const path = { email: email.trim().toLowerCase(), appCode, resourceType: type, resourceId: id.trim() };
  const held = useRead(READ, { path }, { enabled: whole });
  const [draft, setDraft] = useState<Choices>(() => wishesOf(wish));
  /** Ends that were chosen, by permission. */
  const [ends, setEnds] = useState<Readonly<Record<string, string | null>>>({});
  const [reviewing, setReviewing] = useState(false);
  const said = useWindowText();
  // Another application has other records and permissions: nothing of the draft is about it.
  const [of, setOf] = useState(appCode);
  if (of !== appCode) {
    setOf(appCode);
    setPlace({ email, type: '', id: '' });
    setDraft({});
    setEnds({});
  }
  const now = choicesOf(held.data?.data.permissions ?? []);
  const after = { ...now, ...draft };
  const windows = windowsOf(held.data?.data.permissions ?? []);
  const endOf = (permission: string) => ends[permission] ?? null;
  const moved = Object.keys(ends).filter(
    (permission) => (after[permission] ?? '') !== '' && ends[permission] !== (windows[permission]?.endsAt ?? null),
  );
  const changes = changesOf(now, after, moved);
  const move = (to: Partial<Place>): void => {
    const next = { ...place, type, ...to };
    setPlace(next);
    onAt?.(next);
  };
  const known = isAddress(email) && !loading;
  const without = useRead(
    'POST /api/applications/{appCode}/effective',
    { path: { appCode }, body: { email: path.email } },
    { enabled: known },
  );
  // What holds without an override: the same question about no record.
  const otherwise = new Map((without.data?.data ?? []).map(({ code, accessLevel }) => [code, accessLevel]));
  const shown = (choice: Choice, permission: string) => {
    if (choice !== '') return common.levels[choice];
    const level = otherwise.get(permission);
    return level === undefined ? words.noOverride : words.asRolesSay(common.levels[level ?? 'none']);
  };
  const windowAfter = (permission: string) => ({
    startsAt: windows[permission]?.startsAt ?? null,
    endsAt: moved.includes(permission) ? endOf(permission) : (windows[permission]?.endsAt ?? null),
  });
  const moves = (
    <ul className={css.moves}>
      {changes.map(({ permission, from, to }) => (
        <li key={permission}>
          <code>{permission}</code> {words.replaces(shown(from, permission), shown(to, permission))}{' '}
          {to !== '' && moved.includes(permission) && (said(windowAfter(permission)) || common.window.never)}
        </li>
      ))}
    </ul>
  );
  const written = Object.fromEntries(moved.map((permission) => [permission, { endsAt: endOf(permission) }]));
  if (reviewing) {
    return (
      <ImpactReview
        title={`${words.editOf(path.email)}: ${type} ${path.resourceId}`}
        operation={WRITE}
        input={{ path, body: { permissions: permissionsOf(after, written) } }}
        ifMatch={held.data?.etag ?? undefined}
        summary={moves}
        done={words.saved}
        undo={(bound) => call(WRITE, { path, body: { permissions: permissionsOf(now, windows) } }, bound)}
        onClose={() => {
          setReviewing(false);
          void held.refetch();
        }}
        onDone={onClose}
      />
    );
  }
  const entity = entities.find(({ code }) => code === type);
  const choices = permissions.filter((of) => !of.global);
  return (
    <Dialog
      title={lead === undefined ? words.add : words.editOf(email)}
      wide
      dirty={changes.length > 0}
      onClose={onClose}
      act={{
        label: common.review,
        disabled: !whole
          ? lead === undefined
            ? words.nothing
            : words.nothingOfRecord
          : !held.isSuccess
            ? common.missing.wait
            : changes.length === 0 && common.missing.change,
        onAct: () => setReviewing(true),
      }}
    >
      {lead === undefined && <p className={css.soft}>{words.editLead}</p>}
      {lead ?? (
        <PersonField label={words.person} value={email} appCode={appCode} onText={(text) => move({ email: text })} />
      )}
      <div className={css.pair}>
        {entities.length > 0 || loading ? (
          <SelectField
            label={words.type}
            value={type}
            options={entities.map(({ code, name }) => [code, name] as const)}
            onText={(text) => move({ type: text, id: '' })}
          />
        ) : (
          <TextField label={words.type} value={type} onText={(text) => move({ type: text })} />
        )}
        <RecordField
          appCode={appCode}
          entity={entity}
          label={entity?.idLabel ?? words.recordId}
          value={id}
          onText={(text) => move({ id: text })}
        />
      </div>
      {loading && <Loading />}
      {!whole && !loading && <p className={css.soft}>{lead === undefined ? words.nothing : words.nothingOfRecord}</p>}
      {whole && held.isPending && <Loading />}
      {whole && held.isError && <Problem error={asError(held.error)} onRetry={() => void held.refetch()} />}
      {whole && held.isSuccess && choices.length === 0 && <p className={css.soft}>{words.permissionsEmpty}</p>}
      {whole && held.isSuccess && choices.length > 0 && (
        <div className={css.choices}>
          {choices.map(({ code, type: of }) => (
            <div
              key={code}
              className={css.choice}
              data-changed={(now[code] ?? '') === (after[code] ?? '') ? undefined : ''}
            >
              <code>{code}</code>
              <SelectField
                bare
                label={code}
                value={after[code] ?? ''}
                options={choicesFor(of).map((choice) => [choice, shown(choice, code)] as const)}
                onText={(choice) => setDraft({ ...draft, [code]: choice as Choice })}
              />
              {(after[code] ?? '') !== '' && (
                <UntilField
                  of={code}
                  value={windowAfter(code).endsAt}
                  onValue={(endsAt) => setEnds({ ...ends, [code]: endsAt })}
                  zone={zone}
                />
              )}
            </div>
          ))}
        </div>
      )}
      {whole && moves}
    </Dialog>
  );
}
