import { call } from '../../../api/call.ts';
import { ImpactReview } from '../../../parts/impact.tsx';
import { useWords } from '../../../words/words.ts';
import css from './people.module.css';
import type { Role } from './role-choice.tsx';

interface TakeRoleProps {
  readonly appCode: string;
  readonly role: Role;
  /** Who holds it: the list was filtered by it. */
  readonly emails: readonly string[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Takes one role from many people. */
export function TakeRole({ appCode, role, emails, onClose, onDone }: TakeRoleProps) {
  const { people: words } = useWords().applications;
  const path = { appCode, roleId: role.id };
  return (
    <ImpactReview
      title={words.take(role.code)}
      operation="POST /api/applications/{appCode}/roles/{roleId}/users"
      input={{ path, body: { remove: [...emails] } }}
      summary={<p className={css.summary}>{emails.join(', ')}</p>}
      danger
      done={words.taken(emails.length, role.code)}
      undo={(bound) =>
        call('POST /api/applications/{appCode}/roles/{roleId}/users', { path, body: { add: [...emails] } }, bound)
      }
      onClose={onClose}
      onDone={onDone}
    />
  );
}
