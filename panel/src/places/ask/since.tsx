import type { Item } from '../../api/call.ts';
import { useList } from '../../api/queries.ts';
import { Time } from '../../parts/badge.tsx';
import { type Column, ExportButton, List } from '../../parts/list.tsx';
import { Card, Empty } from '../../parts/page.tsx';
import { useWords } from '../../words/words.ts';
import css from './ask.module.css';
import type { Question } from './question.ts';

type AuditRecord = Item<'GET /api/applications/{appCode}/audit'>;

/** What changed for the person in the application, and for the permission itself: newest first. */
export function Since({ question }: { question: Question }) {
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
  const { ask } = useWords();
  const words = ask.since;
  const nameOf = ({ action }: AuditRecord) => words.actions[action] ?? action;
  const columns: readonly Column<AuditRecord>[] = [
    { title: words.when, cell: ({ at }) => <Time iso={at} />, csv: ({ at }) => at, width: '9rem' },
    { title: words.what, cell: nameOf, csv: ({ action }) => action, width: 'minmax(0, 0.7fr)' },
    {
      title: words.details,
      cell: (record) => <code className={css.details}>{detailsOf(record)}</code>,
      csv: detailsOf,
    },
    {
      title: words.by,
      cell: ({ actor }) => actor.replace(/^user:/, ''),
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

/** The values of a record in one line: of what is now, else of what was. */
function detailsOf({ before, after }: AuditRecord): string {
  return flat(after ?? before).slice(0, 300);
}

function flat(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(flat).join('; ');
  if (typeof value !== 'object') return typeof value === 'string' ? value : JSON.stringify(value);
  return Object.entries(value)
    .filter(([, part]) => part !== null)
    .map(([name, part]) => `${name} ${flat(part)}`)
    .join(', ');
}
