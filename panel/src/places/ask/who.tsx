import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import type { Out } from '../../../../src/gen/api.ts';
import { call } from '../../api/call.ts';
import { Level } from '../../parts/badge.tsx';
import { type Column, ExportButton, List } from '../../parts/list.tsx';
import { Card, Empty } from '../../parts/page.tsx';
import { useWords } from '../../words/words.ts';
import { bodyOf, type Question, queryOf, recordOf } from './question.ts';

const OPERATION = 'POST /api/applications/{appCode}/subjects';
type Subject = Out<typeof OPERATION>['subjects'][number];

/** Everybody for whom the answer is yes. */
export function Who({ question }: { question: Question }) {
  const { ask: words, common } = useWords();
  const { email: _, ...body } = bodyOf(question);
  const input = { path: { appCode: question.app }, body };
  const query = useInfiniteQuery({
    queryKey: [OPERATION, input, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      call(
        OPERATION,
        { ...input, body: { ...body, ...(pageParam === null ? {} : { cursor: pageParam }) } },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });
  const items = (query.data?.pages ?? []).flatMap(({ data }) => data.subjects);
  const columns: readonly Column<Subject>[] = [
    { title: common.email, cell: ({ email }) => email, csv: ({ email }) => email },
    {
      title: common.level,
      cell: ({ accessLevel }) => <Level level={accessLevel} />,
      csv: ({ accessLevel }) => accessLevel,
      width: '8rem',
    },
    {
      title: words.who.source,
      cell: ({ source }) => common.sources[source],
      csv: ({ source }) => source,
      width: '11rem',
      wide: true,
    },
  ];
  return (
    <Card
      title={words.who.title(question.permission, recordOf(question))}
      actions={<ExportButton name={`${question.app}-${question.permission}`} items={items} columns={columns} />}
    >
      <List
        label={words.tabs.who}
        listed={{ items, query }}
        columns={columns}
        keyOf={({ email }) => email}
        href={({ email }) => `/ask?${queryOf({ ...question, email })}`}
        empty={<Empty title={words.who.empty} />}
      />
    </Card>
  );
}
