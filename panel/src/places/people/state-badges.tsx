import { Badge } from '../../parts/badge.tsx';
import { useWords } from '../../words/words.ts';
import css from './people.module.css';

/** What is not the usual case about a person. */
export function StateBadges({
  active,
  blocked,
  registered,
  movedTo,
  isSuperAdmin,
}: {
  active: boolean;
  blocked: boolean;
  registered: boolean;
  movedTo: string | null;
  isSuperAdmin?: boolean | undefined;
}) {
  const { people: words, common } = useWords();
  return (
    <span className={css.badges}>
      {isSuperAdmin && <Badge tone="accent">{common.sources.superadmin}</Badge>}
      {blocked && (
        <Badge tone="bad" title={words.states.blockedWhy}>
          {words.states.blocked}
        </Badge>
      )}
      {movedTo !== null && <Badge title={words.states.movedWhy(movedTo)}>{words.states.moved}</Badge>}
      {!active && !blocked && movedTo === null && (
        <Badge tone="warn" title={words.states.inactiveWhy}>
          {words.states.inactive}
        </Badge>
      )}
      {!registered && <Badge title={words.states.mentionedWhy}>{words.states.mentioned}</Badge>}
      {active && registered && !isSuperAdmin && <span className={css.soft}>{words.states.active}</span>}
    </span>
  );
}
