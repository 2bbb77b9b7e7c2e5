import { Link } from 'wouter';
import type { Out } from '../../../../src/gen/api.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Level } from '../../parts/badge.tsx';
import { SelectField } from '../../parts/field.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Card, Empty } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';
import css from './ask.module.css';
import { bodyOf, type Question, queryOf, recordOf } from './question.ts';

type Item = Out<'POST /api/applications/{appCode}/effective'>[number];

/** Everything else that the person may, here: all permissions, and the records of the kind in question. */
export function What({ question }: { question: Question }) {
  const { ask: words } = useWords();
  const filters = useFilters({ show: 'held' });
  const { email, resourceType, resourceId } = bodyOf(question);
  const body = { email, ...(resourceType === undefined ? {} : { resourceType, resourceId }) };
  const read = useRead(
    'POST /api/applications/{appCode}/effective',
    { path: { appCode: question.app }, body },
    { keep: true },
  );
  const items = (read.data?.data ?? []).filter(({ granted }) => granted || filters.values.show === 'all');
  return (
    <>
      <Card
        title={words.what.title(email, recordOf(question))}
        actions={
          <SelectField
            bare
            label={words.tabs.what}
            value={filters.values.show}
            options={[
              ['held', words.what.held],
              ['all', words.what.everything],
            ]}
            onText={(show) => filters.set({ show })}
          />
        }
      >
        {read.isPending && <Loading rows={5} />}
        {read.isError && <Problem error={asError(read.error)} onRetry={() => void read.refetch()} />}
        {read.isSuccess &&
          (items.length === 0 ? <Empty title={words.what.empty} /> : <Held items={items} question={question} />)}
      </Card>
      {question.resourceType !== '' && <Records question={question} />}
    </>
  );
}

function Held({ items, question }: { items: readonly Item[]; question: Question }) {
  const { common } = useWords();
  return (
    <ul className={css.held}>
      {items.map(({ code, groupName, accessLevel, source }) => (
        <li key={code}>
          <Link href={`/ask?${queryOf({ ...question, permission: code, level: '' })}`}>{code}</Link>
          <span className={css.soft}>{groupName}</span>
          <Level level={accessLevel} />
          <span className={css.soft}>{common.sources[source ?? 'none']}</span>
        </li>
      ))}
    </ul>
  );
}

/** As many as a screen of links holds. */
const RECORDS = 200;

function Records({ question }: { question: Question }) {
  const { ask: words } = useWords();
  const { email, permission, accessLevel } = bodyOf(question);
  const { app, resourceType } = question;
  const body = {
    email,
    permission,
    resourceType,
    limit: RECORDS,
    ...(accessLevel === undefined ? {} : { accessLevel }),
  };
  const read = useRead('POST /api/applications/{appCode}/resources', { path: { appCode: app }, body }, { keep: true });
  if (read.data === undefined) {
    if (!read.isError) return null;
    return <Problem error={asError(read.error)} onRetry={() => void read.refetch()} />;
  }
  const { scope, resourceIds } = read.data.data;
  const n = resourceIds.length;
  const sentence =
    scope === 'all'
      ? n === 0
        ? words.what.all
        : words.what.allBut(n)
      : n === 0
        ? words.what.nothing
        : words.what.only(n);
  return (
    <Card title={words.what.records(permission, resourceType)}>
      <p>{sentence}</p>
      {n > 0 && (
        <ul className={css.records}>
          {resourceIds.map((resourceId) => (
            <li key={resourceId}>
              <Link href={`/ask?${queryOf({ ...question, resourceId })}`}>{resourceId}</Link>
            </li>
          ))}
        </ul>
      )}
      {read.data.next !== null && <p className={css.soft}>{words.what.moreRecords}</p>}
    </Card>
  );
}
