import { Badge } from '../../parts/badge.tsx';
import { useWindowText } from '../../parts/window-badge.tsx';
import { useWords } from '../../words/words.ts';
import css from './dialogs.module.css';
import type { RoleDraft } from './role-draft.ts';

/** What the draft says, by application. */
export function DraftView({ draft }: { draft: RoleDraft }) {
  const { people: words, common } = useWords();
  const said = useWindowText();
  const until = (endsAt: string | null | undefined) => (endsAt == null ? '' : ` ${said({ startsAt: null, endsAt })}`);
  if (draft.size === 0) return <p className={css.soft}>{words.noChanges}</p>;
  return (
    <ul className={css.draft} aria-label={words.draft}>
      {[...draft].map(([app, { add, remove, ends = {} }]) => (
        <li key={app}>
          <code>{app}</code>{' '}
          {add.map((role) => (
            <Badge key={role} tone="good">
              {words.gives(role)}
              {until(ends[role])}
            </Badge>
          ))}{' '}
          {remove.map((role) => (
            <Badge key={role} tone="bad">
              {words.takes(role)}
            </Badge>
          ))}
          {Object.entries(ends)
            .filter(([role]) => !add.includes(role))
            .map(([role, endsAt]) => (
              <Badge key={role}>
                {role} {endsAt === null ? common.window.never : until(endsAt)}
              </Badge>
            ))}
        </li>
      ))}
    </ul>
  );
}
