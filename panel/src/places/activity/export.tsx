import { differencesOf } from '../../../../src/base/audit-differences.ts';
import type { Listed } from '../../api/queries.ts';
import { type Column, ExportButton } from '../../parts/list.tsx';
import { useWords } from '../../words/words.ts';
import type { AuditRecord } from './changes.ts';

/** The records that are listed so far, for a spreadsheet. */
export function ExportAudit({ name, listed }: { name: string; listed: Listed<AuditRecord> }) {
  const { activity: words } = useWords();
  const differences = (record: AuditRecord, side: 'before' | 'after') =>
    differencesOf(record)
      .map((difference) => `${difference.name}: ${difference[side] ?? words.nothing}`)
      .join('\n');
  const columns: readonly Column<AuditRecord>[] = [
    { title: words.at, cell: ({ at }) => at, csv: ({ at }) => at },
    { title: words.who, cell: ({ actor }) => actor, csv: ({ actor }) => actor },
    { title: words.action, cell: ({ action }) => action, csv: ({ action }) => action },
    { title: words.application, cell: ({ appCode }) => appCode, csv: ({ appCode }) => appCode },
    { title: words.subject, cell: ({ subject }) => subject, csv: ({ subject }) => subject },
    { title: words.before, cell: () => null, csv: (record) => differences(record, 'before') },
    { title: words.after, cell: () => null, csv: (record) => differences(record, 'after') },
    { title: words.request, cell: ({ requestId }) => requestId, csv: ({ requestId }) => requestId },
  ];
  return <ExportButton name={name} items={listed.items} columns={columns} />;
}
