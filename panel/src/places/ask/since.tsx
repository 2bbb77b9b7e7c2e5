import { differencesOf } from '../../../../src/base/audit-differences.ts';
import { actionOf } from '../../../../src/base/audit-sentences.ts';
import type { Item } from '../../../../src/gen/api.ts';
import { useList } from '../../api/queries.ts';
import { actorName } from '../../parts/actor.ts';
import { Time } from '../../parts/badge.tsx';
import { type Column, ExportButton, List } from '../../parts/list.tsx';
import { Card, Empty } from '../../parts/page.tsx';
import { useWords } from '../../words/words.ts';
import { sentenceText } from '../activity/sentence.ts';
import css from './ask.module.css';
import type { Question } from './question.ts';

type AuditRecord = Item<'GET /api/applications/{appCode}/audit'>;

const LONGEST = 300;

/** What changed for the person in the application, and for the permission itself: newest first. */
export default function Since({ question }: { question: Question }) {
  const { ask } = useWords();
  const path = { appCode: question.app };
  const person = useList('GET /api/applications/{appCode}/audit', { path, query: { person: question.email.trim() } });
  const permission = useList('GET /api/applications/{appCode}/audit', { path, query: { q: question.permission } });
  // Records of the person that name the permission are in the first list already.
  const others = permission.items.filter(
    ({ subject, action }) => subject !== question.email && !/^(assignment|override)/.test(action),
  );
  return (
    <>
      <Records title={ask.since.title(question.email.trim())} listed={person} name={question.email} />
      {others.length > 0 && (
        <Records
          title={ask.since.permissionToo(question.permission)}
          listed={{ ...permission, items: others }}
          name={question.permission}
        />
      )}
    </>
  );
}

function Records({
  title,
  listed,
  name,
}: {
  title: string;
  listed: ReturnType<typeof useList<'GET /api/applications/{appCode}/audit'>>;
  name: string;
}) {
  const all = useWords();
  const { ask, activity } = all;
  const words = ask.since;
  const nameOf = (record: AuditRecord) => {
    const { refused } = actionOf(record.action);
    const { reason } = record;
    const why = reason === null ? '' : ` – ${reason}`;
    return `${sentenceText(record, activity, true)}${refused ? ` (${activity.refused})` : ''}${why}`;
  };
  const columns: readonly Column<AuditRecord>[] = [
    { title: words.when, cell: ({ at }) => <Time iso={at} />, csv: ({ at }) => at, width: 'minmax(0, 8rem)' },
    { title: words.what, cell: nameOf, csv: nameOf, width: 'minmax(0, 1fr)' },
    {
      title: words.details,
      cell: (record) => <span className={css.details}>{detailsOf(record)}</span>,
      csv: detailsOf,
    },
    {
      title: words.by,
      cell: ({ actor }) => actorName(actor, all),
      csv: ({ actor }) => actor,
      width: 'minmax(0, 0.5fr)',
      wide: true,
    },
  ];
  return (
    <Card title={title} actions={<ExportButton name={`since-${name}`} items={listed.items} columns={columns} />}>
      <List
        label={title}
        listed={listed}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<Empty title={words.empty} />}
      />
    </Card>
  );
}

/** What a record changed, in one line. */
function detailsOf(record: AuditRecord): string {
  const told = differencesOf(record).map(({ name, before, after }) =>
    before === null || after === null ? `${name}: ${after ?? before}` : `${name}: ${before} → ${after}`,
  );
  const line = told.join(', ');
  return line.length > LONGEST ? `${line.slice(0, LONGEST).toWellFormed()}…` : line;
}
