import { useList } from '../../../api/queries.ts';
import { CopyButton } from '../../../parts/copy.tsx';
import { useWords } from '../../../words/words.ts';
import { AuditFilters, useAuditFilters } from '../../activity/audit-filters.tsx';
import { ExportAudit } from '../../activity/export.tsx';
import { Timeline } from '../../activity/timeline.tsx';
import type { ViewProps } from '../view-props.ts';

/** Who changed what in one application. */
export default function History({ appCode, mayEdit }: ViewProps) {
  const { common } = useWords();
  const filters = useAuditFilters();
  const { query } = filters;
  const listed = useList('GET /api/applications/{appCode}/audit', { path: { appCode }, query });
  return (
    <>
      <AuditFilters
        filters={filters}
        actions={
          <>
            <CopyButton label={common.copyLink} text={() => location.href} />
            <ExportAudit name={`${appCode}-history`} listed={listed} />
          </>
        }
      />
      <Timeline listed={listed} filtered={filters.filtered} ofApplication mayEdit={() => mayEdit} />
    </>
  );
}
