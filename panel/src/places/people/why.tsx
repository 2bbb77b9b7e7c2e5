import type { Out } from '../../../../src/gen/api.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Badge, Level } from '../../parts/badge.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';
import css from './access.module.css';

interface Question {
  readonly app: string;
  readonly email: string;
  readonly permission: string;
}
type Rule = Out<'POST /api/applications/{appCode}/explain'>['rules'][number];

/** The rules that apply to a decision, the deciding one marked, asked for when somebody wants to know. */
export function Why({ question: { app, email, permission } }: { question: Question }) {
  const { people: words } = useWords();
  const explained = useRead('POST /api/applications/{appCode}/explain', {
    path: { appCode: app },
    body: { email, permission },
  });
  if (explained.isPending) return <Loading rows={1} />;
  if (explained.data === undefined) {
    return <Problem error={asError(explained.error)} onRetry={() => void explained.refetch()} />;
  }
  const rules = explained.data.data.rules.filter(({ applies, decides }) => applies || decides);
  return (
    <ol className={css.rules}>
      {rules.map((rule) => (
        <li key={rule.rule} className={rule.decides ? css.decides : css.soft}>
          <RuleLine rule={rule} />
          {rule.decides && <span className={css.soft}> {words.decides}</span>}
        </li>
      ))}
    </ol>
  );
}

function RuleLine({ rule: { name, roles, accessLevel } }: { rule: Rule }) {
  const { people: words } = useWords();
  if (name !== 'roles' || roles === undefined) {
    return (
      <>
        {words.rules[name]} <Level level={accessLevel} />
      </>
    );
  }
  return (
    <>
      {words.rules.roles}{' '}
      {roles.map((role) => (
        <span key={role.code} className={css.role}>
          <Badge>{role.code}</Badge> <Level level={role.accessLevel} />
        </span>
      ))}
    </>
  );
}
