import { useEffect, useRef } from 'react';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Level } from '../../parts/badge.tsx';
import { Card, Empty } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import css from './ask.module.css';
import { bodyOf, isComplete, type Question } from './question.ts';
import { Sentence } from './sentence.tsx';
import { useQuestion } from './use-question.ts';

/** The bench of somebody who administers nothing: questions about themselves, by their own rights. */
export default function AskOwn() {
  const { ask: words } = useWords();
  const { email } = useRights();
  const access = useRead('GET /api/profile/me/access', {});
  const { question, settled, change } = useQuestion();
  const apps = access.data?.data.applications ?? null;
  const started = useRef(false);
  useEffect(() => {
    if (started.current || apps === null) return;
    started.current = true;
    const [first] = apps;
    if (question.app === '' && first !== undefined) change({ app: first.code });
  }, [apps, question.app, change]);
  const own = { ...question, email };
  const held = useRead(
    'POST /api/profile/me/check/effective',
    { body: { app: settled.app } },
    { enabled: settled.app !== '', keep: true },
  );
  if (access.isPending) return <Loading rows={4} />;
  if (access.isError) return <Problem error={asError(access.error)} onRetry={() => void access.refetch()} />;
  const permissions = held.data?.data ?? [];
  const permission = permissions.find(({ code }) => code === question.permission);
  const granted = permissions.filter((one) => one.granted);
  return (
    <>
      <Sentence
        own
        question={question}
        change={change}
        permissions={permissions.map(({ code, groupName }) => ({ value: code, note: groupName }))}
        types={[]}
        suggest={null}
        apps={(apps ?? []).map(({ code, name }) => ({ value: code, note: name }))}
        tiered={permission === undefined ? null : permission.type === 'tiered'}
      />
      {isComplete(own) ? <OwnAnswer question={own} /> : <p role="status">{words.sentence.incomplete}</p>}
      {apps?.length === 0 && <Empty title={words.own.nowhere} />}
      {held.isError && <Problem error={asError(held.error)} onRetry={() => void held.refetch()} />}
      {granted.length > 0 && (
        <Card title={words.own.held}>
          <ul className={css.held}>
            {granted.map(({ code, groupName, accessLevel }) => (
              <li key={code}>
                <button
                  type="button"
                  className={css.linkButton}
                  onClick={() => change({ permission: code, level: '' })}
                >
                  {code}
                </button>
                <span className={css.soft}>{groupName}</span>
                <Level level={accessLevel} />
              </li>
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}

function OwnAnswer({ question }: { question: Question }) {
  const { ask: words, common } = useWords();
  const { email: _, ...body } = bodyOf(question);
  const answer = useRead(
    'POST /api/profile/me/check/batch',
    { body: { checks: [{ app: question.app, ...body }] } },
    { keep: true, staleTime: 0 },
  );
  if (answer.isError) return <Problem error={asError(answer.error)} onRetry={() => void answer.refetch()} />;
  const [result] = answer.data?.data.results ?? [];
  if (result === undefined) return null;
  const { allowed, accessLevel, source } = result;
  return (
    <section className={css.answer} aria-label={words.answer.label} aria-live="polite">
      <p className={allowed ? css.yes : css.no}>
        {allowed ? words.answer.yes(common.levels[accessLevel ?? 'allowed']) : words.answer.no}
      </p>
      <p className={css.soft}>{words.own.by(common.sources[source])}</p>
    </section>
  );
}
