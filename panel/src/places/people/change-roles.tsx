import { useState } from 'react';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { SelectField, Switch, TextField } from '../../parts/field.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { windowOf } from '../../parts/until.ts';
import { UntilField } from '../../parts/until-field.tsx';
import { mayWriteIn } from '../../shell/panel-app.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import css from './dialogs.module.css';
import { DraftView } from './draft-view.tsx';
import { ReviewRoles } from './review-roles.tsx';
import { ending, isHeld, type RoleDraft, turned, without } from './role-draft.ts';

interface ChangeRolesProps {
  readonly email: string;
  /** The application to begin with. */
  readonly app: string | undefined;
  /** The time zone of the person, where it is known. */
  readonly zone: string | null | undefined;
  readonly onClose: () => void;
}

/** Gives and takes roles in any number of applications; then shows what follows, and does it. */
export function ChangeRoles({ email, app, zone, onClose }: ChangeRolesProps) {
  const { people: words, common } = useWords();
  const rights = useRights();
  const [draft, setDraft] = useState<RoleDraft>(new Map());
  const [reviewing, setReviewing] = useState(false);
  const applications = useRead('GET /api/applications', {});
  const codes = (applications.data?.data ?? []).filter(({ code }) => mayWriteIn(rights, code));
  const [chosen, setChosen] = useState(app ?? '');
  const shown = chosen || (codes[0]?.code ?? '');
  if (reviewing) {
    return (
      <ReviewRoles
        email={email}
        draft={draft}
        onBack={(made) => {
          setDraft(without(draft, made));
          setReviewing(false);
        }}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog
      title={words.changeRolesOf(email)}
      onClose={onClose}
      dirty={draft.size > 0}
      act={{
        label: common.review,
        disabled: draft.size === 0 && common.missing.change,
        onAct: () => setReviewing(true),
      }}
    >
      {applications.isError && (
        <Problem error={asError(applications.error)} onRetry={() => void applications.refetch()} />
      )}
      <SelectField
        label={common.application}
        value={shown}
        options={codes.map(({ code, name }) => [code, name === code ? code : `${name} (${code})`] as const)}
        onText={setChosen}
      />
      {applications.isPending && <Loading />}
      {shown !== '' && (
        <RoleChoice key={shown} email={email} app={shown} zone={zone} draft={draft} onDraft={setDraft} />
      )}
      <DraftView draft={draft} />
    </Dialog>
  );
}

interface RoleChoiceProps {
  readonly email: string;
  readonly app: string;
  readonly zone: string | null | undefined;
  readonly draft: RoleDraft;
  readonly onDraft: (draft: RoleDraft) => void;
}

/** More roles than these get a filter. */
const MANY = 12;

function RoleChoice({ email, app, zone, draft, onDraft }: RoleChoiceProps) {
  const { people: words, common } = useWords();
  const [filter, setFilter] = useState('');
  const roles = useRead('GET /api/applications/{appCode}/roles', { path: { appCode: app } });
  const held = useRead('GET /api/users/{email}/apps/{appCode}/roles', { path: { email, appCode: app } });
  // A choice that was begun stays when the roles cannot be read again.
  const failed = [roles, held].find(({ isError, data }) => isError && data === undefined);
  if (failed) return <Problem error={asError(failed.error)} onRetry={() => void failed.refetch()} />;
  if (roles.data === undefined || held.data === undefined) return <Loading />;
  const windows = new Map(held.data.data.map((role) => [role.code, windowOf(role)]));
  const codes = [...windows.keys()];
  const ends = draft.get(app)?.ends ?? {};
  const wanted = filter.toLowerCase();
  const shown = roles.data.data.filter(({ code, description }) => {
    return `${code}\n${description ?? ''}`.toLowerCase().includes(wanted);
  });
  if (roles.data.data.length === 0) return <p className={css.soft}>{words.noRoles}</p>;
  return (
    <>
      {roles.data.data.length > MANY && (
        <TextField
          bare
          type="search"
          label={common.filter}
          placeholder={common.filter}
          value={filter}
          onText={setFilter}
        />
      )}
      <fieldset className={css.choices}>
        <legend className="visually-hidden">{words.rolesIn(app)}</legend>
        {shown.map(({ code, description }) => (
          <div key={code}>
            <Switch
              label={<code>{code}</code>}
              hint={description && <bdi>{description}</bdi>}
              checked={isHeld(draft, app, code, codes)}
              onChecked={() => onDraft(turned(draft, app, code, codes))}
            />
            {isHeld(draft, app, code, codes) && (
              <div className={css.until}>
                <UntilField
                  of={code}
                  value={ends[code] === undefined ? (windows.get(code)?.endsAt ?? null) : ends[code]}
                  onValue={(endsAt) =>
                    onDraft(ending(draft, app, { role: code, endsAt, held: windows.get(code)?.endsAt ?? null }))
                  }
                  zone={zone}
                />
              </div>
            )}
          </div>
        ))}
      </fieldset>
    </>
  );
}
