import { Badge } from '../../parts/badge.tsx';
import { useWords } from '../../words/words.ts';
import css from './dialogs.module.css';
import type { RoleDraft } from './role-draft.ts';

/** What the draft says, by application. */
export function DraftView({ draft }: { draft: RoleDraft }) {
  const { people: words } = useWords();
  if (draft.size === 0) return <p className={css.soft}>{words.noChanges}</p>;
  return (
    <ul className={css.draft} aria-label={words.draft}>
      {[...draft].map(([app, { add, remove }]) => (
        <li key={app}>
          <code>{app}</code>{' '}
          {add.map((role) => (
            <Badge key={role} tone="good">
              {words.gives(role)}
            </Badge>
          ))}{' '}
          {remove.map((role) => (
            <Badge key={role} tone="bad">
              {words.takes(role)}
            </Badge>
          ))}
        </li>
      ))}
    </ul>
  );
}
