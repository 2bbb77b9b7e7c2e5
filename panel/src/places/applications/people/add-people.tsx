import { useState } from 'react';
import type { Out } from '../../../../../src/gen/api.ts';
import { undoBound } from '../../../api/bound.ts';
import { type Answer, type CallOptions, call, rehearse } from '../../../api/call.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { ImpactReview } from '../../../parts/impact.tsx';
import { PeopleField, usePasted } from '../../../parts/people-field.tsx';
import { useWindowText } from '../../../parts/window-badge.tsx';
import { PANEL_APP } from '../../../shell/panel-app.ts';
import { useRights } from '../../../shell/rights.ts';
import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../view-props.ts';
import { givenIn, manifestOf } from './assignments.ts';
import css from './people.module.css';
import { type Ends, type Role, RoleChoice } from './role-choice.tsx';

interface AddPeopleProps {
  readonly application: ViewProps['application'];
  readonly roles: readonly Role[];
  /** Addresses to begin with. */
  readonly emails: readonly string[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

const APPLY = 'POST /api/applications/{appCode}/manifest';
const CHANGE_HOLDERS = 'POST /api/applications/{appCode}/roles/{roleId}/users';

/** Gives roles to many people at once. What is typed stays until it is done or closed. */
export function AddPeople({ application, roles, emails: first, onClose, onDone }: AddPeopleProps) {
  const { applications, common } = useWords();
  const words = applications.people;
  const { isSuperAdmin } = useRights();
  const [text, setText] = useState(first.join('\n'));
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [ends, setEnds] = useState<Ends>(new Map());
  const [reviewing, setReviewing] = useState(false);
  const { emails, names, fault } = usePasted(text);
  // A manifest of `auth` is for SuperAdmins.
  const one = application.code === PANEL_APP && !isSuperAdmin;
  // Several roles go by a manifest, which keeps no ends.
  const timed = [...chosen].some((code) => (ends.get(code) ?? null) !== null);
  const disabledBy = (people: number, given: number, until: boolean): string | false => {
    if (people === 0) return common.missing.address;
    if (given === 0) return words.chooseRole;
    return given > 1 && until && words.oneEnd;
  };
  if (reviewing) {
    const given = { application, roles: roles.filter(({ code }) => chosen.has(code)), emails, names, ends };
    return (
      <ReviewAdding
        {...given}
        one={one || timed}
        onClose={() => setReviewing(false)}
        onDone={() => {
          onDone();
          onClose();
        }}
      />
    );
  }
  return (
    <Dialog
      title={words.add}
      dirty={text !== first.join('\n')}
      onClose={onClose}
      act={{
        label: common.review,
        disabled: fault ?? disabledBy(emails.length, chosen.size, timed),
        onAct: () => setReviewing(true),
      }}
    >
      <p className={css.soft}>{words.addLead}</p>
      <PeopleField label={words.addresses} value={text} autoFocus onText={setText} />
      <h3>{words.roles}</h3>
      <RoleChoice
        roles={roles}
        chosen={chosen}
        onChosen={setChosen}
        one={one}
        ends={ends}
        onEnd={(code, endsAt) => setEnds(new Map(ends).set(code, endsAt))}
      />
      {one && <p className={css.soft}>{words.oneRole}</p>}
    </Dialog>
  );
}

interface ReviewProps extends Omit<AddPeopleProps, 'emails'> {
  readonly emails: readonly string[];
  readonly names: ReadonlyMap<string, string>;
  readonly ends: Ends;
  readonly one: boolean;
}

function ReviewAdding({ application, roles, emails, names, ends, one, onClose, onDone }: ReviewProps) {
  const { people: words } = useWords().applications;
  const text = useWindowText();
  const said = (endsAt: string | null) => text({ startsAt: null, endsAt });
  const { code: appCode } = application;
  const summary = (
    <div className={css.summary}>
      <p>{roles.map(({ code }) => withEnd(code, said(ends.get(code) ?? null))).join(', ')}</p>
      <ul>
        {emails.map((email) => (
          <li key={email}>
            {names.has(email) && <bdi>{names.get(email)} </bdi>}
            {email}
          </li>
        ))}
      </ul>
    </div>
  );
  const shared = { title: words.addTitle(emails.length), summary, onClose, onDone };
  const path = { appCode };
  const [role] = roles;
  if (one && role !== undefined) {
    const roleId = role.id;
    return (
      <ImpactReview
        {...shared}
        operation={CHANGE_HOLDERS}
        input={{
          path: { appCode, roleId },
          body: { add: emails.map((email) => holderWith(email, ends.get(role.code))) },
        }}
        done={words.added(emails.length)}
      />
    );
  }
  const undo = async (bound: CallOptions, answer: Answer<Out<typeof APPLY>>): Promise<void> => {
    const inputs = [...givenIn(answer.data.changes)].flatMap(([code, added]) => {
      const roleId = roles.find((of) => of.code === code)?.id;
      return roleId === undefined ? [] : [{ path: { appCode, roleId }, body: { remove: added } }];
    });
    // All are asked about before the first is made: either everything is taken back, or nothing.
    for (const input of inputs) await rehearse(CHANGE_HOLDERS, input, bound);
    let last = bound;
    for (const input of inputs) last = { ...last, ...undoBound(await call(CHANGE_HOLDERS, input, last)) };
  };
  return (
    <ImpactReview
      {...shared}
      operation={APPLY}
      input={{ path, body: manifestOf(application, roles, emails) }}
      done={words.added(emails.length * roles.length)}
      undo={undo}
    />
  );
}

function withEnd(code: string, until: string): string {
  return until === '' ? code : `${code} ${until}`;
}

/** Without an end that was chosen somebody who holds the role already keeps theirs. */
function holderWith(email: string, endsAt: string | null | undefined): string | { email: string; endsAt: string } {
  return endsAt == null ? email : { email, endsAt };
}
