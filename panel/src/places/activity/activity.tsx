import { useList, useRead } from '../../api/queries.ts';
import { CopyButton } from '../../parts/copy.tsx';
import { SelectField } from '../../parts/field.tsx';
import { Page } from '../../parts/page.tsx';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import { AuditFilters, useAuditFilters } from './audit-filters.tsx';
import { ExportAudit } from './export.tsx';
import { Timeline } from './timeline.tsx';

/** Who changed what, in everything that the reader may see: all of it, or one of their applications at a time. */
export default function Activity() {
  const { activity: words, common } = useWords();
  const { isSuperAdmin, mayEdit } = useRights();
  const filters = useAuditFilters();
  const applications = useRead('GET /api/applications', {});
  const known = applications.data?.data ?? [];
  const appCode = filters.values.app || (isSuperAdmin ? '' : (known[0]?.code ?? ''));
  const { query } = filters;
  const all = useList('GET /api/admin/audit', { query: { ...query, appCode } }, isSuperAdmin);
  const path = { appCode };
  const one = useList('GET /api/applications/{appCode}/audit', { path, query }, !isSuperAdmin && appCode !== '');
  const listed = isSuperAdmin ? all : one;
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        <>
          <CopyButton label={common.copyLink} text={() => location.href} />
          <ExportAudit name="activity" listed={listed} />
        </>
      }
    >
      <AuditFilters filters={filters}>
        <SelectField
          bare
          label={words.application}
          value={appCode}
          options={[
            ...(isSuperAdmin ? [['', words.allApplications] as const] : []),
            ...known.map(({ code, name }) => [code, name || code] as const),
          ]}
          onText={(app) => filters.set({ app })}
        />
      </AuditFilters>
      <Timeline listed={listed} filtered={filters.filtered || appCode !== ''} mayEdit={mayEdit} />
    </Page>
  );
}
