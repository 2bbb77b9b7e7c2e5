import { useState } from 'react';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { SelectField } from '../../parts/field.tsx';
import { Problem } from '../../parts/problem.tsx';
import { mayWriteIn } from '../../shell/panel-app.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import { OverrideEditor } from '../applications/records/override-editor.tsx';
import css from './dialogs.module.css';

interface EditOverrideProps {
  readonly email: string;
  readonly start: { readonly app?: string; readonly resourceType?: string; readonly resourceId?: string };
  readonly zone: string | null | undefined;
  readonly onClose: () => void;
}

/** What is different for a person and one record, in any application where the reader may say so. */
export function EditOverride({ email, start, zone, onClose }: EditOverrideProps) {
  const { people: words, common } = useWords();
  const rights = useRights();
  const [app, setApp] = useState(start.app ?? '');
  const applications = useRead('GET /api/applications', {});
  const codes = (applications.data?.data ?? []).filter(({ code }) => mayWriteIn(rights, code));
  const appCode = app || (codes[0]?.code ?? '');
  const path = { appCode };
  const enabled = appCode !== '';
  const entities = useRead('GET /api/applications/{appCode}/entities', { path }, { enabled });
  const permissions = useRead('GET /api/applications/{appCode}/permissions', { path }, { enabled });
  const failed = [applications, entities, permissions].find(({ isError }) => isError);
  return (
    <OverrideEditor
      appCode={appCode}
      entities={entities.data?.data ?? []}
      permissions={permissions.data?.data ?? []}
      zone={zone}
      loading={failed === undefined && (entities.isPending || permissions.isPending)}
      at={{ email, type: start.resourceType ?? '', id: start.resourceId ?? '' }}
      lead={
        <>
          <p className={css.soft}>{words.overrideWhy}</p>
          <SelectField
            label={common.application}
            value={appCode}
            options={codes.map(({ code, name }) => [code, name === code ? code : `${name} (${code})`] as const)}
            onText={setApp}
          />
          {failed !== undefined && <Problem error={asError(failed.error)} onRetry={() => void failed.refetch()} />}
        </>
      }
      onClose={onClose}
    />
  );
}
