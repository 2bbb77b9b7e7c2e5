import { useMemo, useState } from 'react';
import { useRead } from '../../api/queries.ts';
import { Button } from '../../parts/button.tsx';
import { mayWriteIn } from '../../shell/panel-app.ts';
import { type Rights, useRights } from '../../shell/rights.ts';
import type { Text } from '../../words/places.ts';
import { useWords } from '../../words/words.ts';
import css from './ask.module.css';
import { type BenchProps, isKnownType } from './asked.ts';
import { type Question, recordOf } from './question.ts';
import { applies, type Explained } from './rules.ts';
import { WayDraft } from './way-draft.tsx';
import { type Matrix, shownAtFirst, type Way, waysOf } from './ways.ts';

/** Shown at first; with hundreds of roles there are hundreds of ways. */
const FIRST = 6;

interface WaysProps extends BenchProps {
  readonly explained: Explained;
  readonly matrix: Matrix;
}

/** The smallest single changes that would flip the answer; one press opens the draft of one. */
export function WaysView({ question, settled, catalog, explained, matrix }: WaysProps) {
  const words = useWords();
  const rights = useRights();
  const [drafted, setDrafted] = useState<Way | null>(null);
  const [all, setAll] = useState(false);
  const inactive = applies(explained, 'inactive');
  const person = useRead('GET /api/users/{email}', { path: { email: settled.email.trim() } }, { enabled: inactive });
  const blocked = inactive && person.data?.data.blocked === true;
  const recordKnown = isKnownType(catalog, question.resourceType);
  const ways = useMemo(
    () => waysOf({ question, explained, matrix, blocked, recordKnown }).filter((way) => isConceivable(way, rights)),
    [question, explained, matrix, blocked, recordKnown, rights],
  );
  const first = shownAtFirst(ways, FIRST);
  const { allowed } = explained;
  const mayEdit = rights.mayEdit(question.app);
  return (
    <section className={css.ways} aria-label={allowed ? words.ask.ways.yes : words.ask.ways.no}>
      <header className={css.sectionHead}>
        <h2>{allowed ? words.ask.ways.yes : words.ask.ways.no}</h2>
        <p className={css.soft}>{allowed ? words.ask.ways.yesLead : words.ask.ways.noLead}</p>
      </header>
      {ways.length === 0 && <p>{nothingOf(words, explained, inactive)}</p>}
      <ol className={css.wayList}>
        {ways.slice(0, all ? undefined : first).map((way) => (
          <li key={JSON.stringify(way)} className={css.way}>
            <span>{sentenceOf(way, question, words)}</span>
            <span className={css.else}>{elseOf(way, words)}</span>
            {mayDo(way, question, rights) && (
              <Button kind="plain" onClick={() => setDrafted(way)}>
                {words.ask.ways.draft}
                <span className="visually-hidden"> {sentenceOf(way, question, words)}</span>
              </Button>
            )}
          </li>
        ))}
      </ol>
      {!all && ways.length > first && (
        <Button kind="quiet" onClick={() => setAll(true)}>
          {words.ask.ways.more(ways.length - first)}
        </Button>
      )}
      {!mayEdit && ways.length > 0 && <p className={css.soft}>{words.ask.ways.reader}</p>}
      {drafted !== null && (
        <WayDraft
          way={drafted}
          question={question}
          title={sentenceOf(drafted, question, words)}
          before={levelBefore(drafted, question, matrix)}
          onClose={() => setDrafted(null)}
        />
      )}
    </section>
  );
}

function nothingOf({ ask: { ways } }: Text, explained: Explained, inactive: boolean): string {
  if (!explained.known.permission) return ways.nonePermission;
  return inactive ? ways.blockedFirst : ways.none;
}

const EVERYWHERE: readonly Way['kind'][] = ['make-superadmin', 'remove-superadmin', 'block', 'unblock'];

/** What only SuperAdmins may do is nobody else's business. */
function isConceivable({ kind }: Way, { isSuperAdmin }: Rights): boolean {
  return isSuperAdmin || !EVERYWHERE.includes(kind);
}

function mayDo({ kind }: Way, { app }: Question, rights: Rights): boolean {
  return EVERYWHERE.includes(kind) ? rights.isSuperAdmin : mayWriteIn(rights, app);
}

function sentenceOf(way: Way, question: Question, { ask, common }: Text): string {
  const sentences = ask.ways.sentences;
  const record = recordOf(question);
  switch (way.kind) {
    case 'set-override':
      return sentences[way.kind](common.levels[way.level], record);
    case 'deny-override':
    case 'remove-override':
      return sentences[way.kind](record);
    case 'give-role':
    case 'take-role':
      return sentences[way.kind](way.role);
    case 'set-level':
      return way.level === null
        ? sentences['unset-level'](way.role, question.permission)
        : sentences[way.kind](way.role, question.permission, common.levels[way.level]);
    case 'make-admin':
    case 'remove-admin':
      return sentences[way.kind](question.app);
    default:
      return sentences[way.kind];
  }
}

/** What it gives or takes besides. */
function elseOf(way: Way, { ask }: Text): string {
  const named = ask.ways.else;
  if (EVERYWHERE.includes(way.kind)) return named.everything;
  if (way.else.permissions === Number.POSITIVE_INFINITY) return named.app;
  const parts = [
    ...(way.else.everyRecord ? [named.everyRecord] : []),
    ...(way.else.permissions > 0 ? [named.permissions(way.else.permissions)] : []),
    ...(way.else.people > 0 ? [named.people(way.else.people)] : []),
  ];
  return parts.length === 0 ? named.nothing : `+ ${parts.join(', ')}`;
}

/** The level of the permission that a role gives now, for the inverse. */
function levelBefore(way: Way, { permission }: Question, { roles, permissions, levels }: Matrix) {
  if (way.kind !== 'set-level') return null;
  const roleId = roles.find(({ code }) => code === way.role)?.id;
  const permissionId = permissions.find(({ code }) => code === permission)?.id;
  return levels.find((one) => one.roleId === roleId && one.permissionId === permissionId)?.accessLevel ?? null;
}
