import { useState } from 'react';
import { call } from '../../api/call.ts';
import { ImpactReview } from '../../parts/impact.tsx';
import { onDemand } from '../../parts/on-demand.ts';
import { UntilField } from '../../parts/until-field.tsx';
import { useWords } from '../../words/words.ts';
import { ChangeRoles } from './change-roles.tsx';
import type { Changing, User } from './person-props.ts';

// Its fields to choose a record are heavy.
const EditOverride = onDemand(
  async () => ({ default: (await import('./edit-override.tsx')).EditOverride }),
  'people',
  'applications',
);

interface ChangeDialogProps {
  readonly email: string;
  /** Undefined for an address that nobody knows yet. */
  readonly user: User | undefined;
  readonly change: Changing;
  readonly onClose: () => void;
}

export function ChangeDialog({ email, user, change, onClose }: ChangeDialogProps) {
  const zone = user?.timezone;
  switch (change.kind) {
    case 'roles':
      return <ChangeRoles email={email} app={change.app} zone={zone} onClose={onClose} />;
    case 'override':
      return <EditOverride email={email} start={change} zone={zone} onClose={onClose} />;
    case 'seat':
      return <ChangeSeat email={email} {...change} zone={zone} onClose={onClose} />;
    case 'superadmin':
      return <ChangeSuperAdmin email={email} add={change.add} onClose={onClose} />;
    case 'active':
      return <ChangeActive email={email} active={change.active} onClose={onClose} />;
  }
}

interface Closing {
  readonly email: string;
  readonly onClose: () => void;
}

interface SeatProps extends Closing {
  readonly app: string;
  readonly add: boolean;
  readonly zone: string | null | undefined;
}

/** Adds or removes an administrator of an application. */
function ChangeSeat({ email, app, add, zone, onClose }: SeatProps) {
  const { people: words } = useWords();
  const [endsAt, setEndsAt] = useState<string | null>(null);
  const adding = { path: { appCode: app }, body: { email, ...(endsAt === null ? {} : { endsAt }) } };
  const removing = { path: { appCode: app, email } };
  if (add) {
    return (
      <ImpactReview
        title={words.makeAppAdminOf(email, app)}
        operation="POST /api/users/admins/apps/{appCode}"
        input={adding}
        summary={<UntilField value={endsAt} onValue={setEndsAt} zone={zone} />}
        done={words.isAppAdmin(email, app)}
        undo={(bound) => call('DELETE /api/users/admins/apps/{appCode}/{email}', removing, bound)}
        onClose={onClose}
      />
    );
  }
  return (
    <ImpactReview
      title={words.removeAppAdminOf(email, app)}
      operation="DELETE /api/users/admins/apps/{appCode}/{email}"
      input={removing}
      danger
      done={words.isNoAppAdmin(email, app)}
      undo={(bound) => call('POST /api/users/admins/apps/{appCode}', adding, bound)}
      onClose={onClose}
    />
  );
}

/** Adds or removes a SuperAdmin. The service refuses to lose the last one, and the dialog says so. */
export function ChangeSuperAdmin({ email, add, onClose }: Closing & { add: boolean }) {
  const { people: words } = useWords();
  if (add) {
    return (
      <ImpactReview
        title={words.makeSuperAdminOf(email)}
        operation="POST /api/users/admins/super"
        input={{ body: { email } }}
        danger
        summary={<p>{words.superAdminWhy}</p>}
        done={words.isSuperAdmin(email)}
        undo={(bound) => call('DELETE /api/users/admins/super/{email}', { path: { email } }, bound)}
        onClose={onClose}
      />
    );
  }
  return (
    <ImpactReview
      title={words.removeSuperAdminOf(email)}
      operation="DELETE /api/users/admins/super/{email}"
      input={{ path: { email } }}
      danger
      done={words.isNoSuperAdmin(email)}
      undo={(bound) => call('POST /api/users/admins/super', { body: { email } }, bound)}
      onClose={onClose}
    />
  );
}

function ChangeActive({ email, active, onClose }: Closing & { active: boolean }) {
  const { people: words } = useWords();
  return (
    <ImpactReview
      title={active ? words.unblockOf(email) : words.blockOf(email)}
      operation="PUT /api/users/{email}/active"
      input={{ path: { email }, body: { active } }}
      danger={!active}
      summary={<p>{active ? words.unblockWhy : words.blockWhy}</p>}
      confirm={active ? words.unblock : words.block}
      done={active ? words.isUnblocked(email) : words.isBlocked(email)}
      undo={(bound) => call('PUT /api/users/{email}/active', { path: { email }, body: { active: !active } }, bound)}
      onClose={onClose}
    />
  );
}
