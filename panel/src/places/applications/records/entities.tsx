import { useState } from 'react';
import type { Entity } from '../../../../../src/gen/api.ts';
import { useList } from '../../../api/queries.ts';
import { Button } from '../../../parts/button.tsx';
import { ImpactReview } from '../../../parts/impact.tsx';
import { type Column, ExportButton, List } from '../../../parts/list.tsx';
import { Empty } from '../../../parts/page.tsx';
import { useAction } from '../../../shell/actions.ts';
import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../view-props.ts';
import { EntityDialog } from './entity-dialog.tsx';
import css from './records.module.css';

/** The kinds of records, with the endpoints that list them. */
export function Entities({ appCode, mayEdit }: ViewProps) {
  const { applications, common } = useWords();
  const words = applications.records;
  const path = { appCode };
  const listed = useList('GET /api/applications/{appCode}/entities', { path });
  const [editing, setEditing] = useState<Entity | 'new' | null>(null);
  const [deleting, setDeleting] = useState<Entity | null>(null);
  useAction(mayEdit ? words.newEntity : null, () => setEditing('new'));
  const columns: readonly Column<Entity>[] = [
    { title: common.name, cell: ({ name }) => <bdi>{name}</bdi>, csv: ({ name }) => name },
    { title: common.code, cell: ({ code }) => <code>{code}</code>, csv: ({ code }) => code },
    { title: words.idLabel, cell: ({ idLabel }) => idLabel, csv: ({ idLabel }) => idLabel, wide: true },
    {
      title: words.listEndpoint,
      cell: ({ listEndpoint }) => listEndpoint ?? <span className={css.soft}>{words.noEndpoint}</span>,
      csv: ({ listEndpoint }) => listEndpoint,
      wide: true,
    },
    ...(mayEdit
      ? [
          {
            title: common.actions,
            cell: (entity: Entity) => (
              <>
                <Button kind="quiet" aria-label={`${common.edit} ${entity.code}`} onClick={() => setEditing(entity)}>
                  {common.edit}
                </Button>
                <Button kind="quiet" aria-label={words.deleteEntity(entity.code)} onClick={() => setDeleting(entity)}>
                  {common.remove}
                </Button>
              </>
            ),
            // Two words of any language side by side, and one below the other in a narrow window.
            width: 'clamp(6rem, 16vw, 11.5rem)',
          },
        ]
      : []),
  ];
  return (
    <>
      <div className={css.head}>
        <p className={css.lead}>{words.entitiesLead}</p>
        <span>
          <ExportButton name={`${appCode}-entities`} items={listed.items} columns={columns} />
          {mayEdit && (
            <Button kind="primary" onClick={() => setEditing('new')}>
              {words.newEntity}
            </Button>
          )}
        </span>
      </div>
      <List
        label={words.entities}
        listed={listed}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<Empty title={words.entitiesEmpty} />}
      />
      {editing !== null && (
        <EntityDialog appCode={appCode} entity={editing === 'new' ? null : editing} onClose={() => setEditing(null)} />
      )}
      {deleting !== null && (
        <ImpactReview
          title={words.deleteEntity(deleting.code)}
          operation="DELETE /api/applications/{appCode}/entities/{id}"
          input={{ path: { appCode, id: deleting.id } }}
          danger
          confirm={common.remove}
          done={words.entityDeleted(deleting.code)}
          onClose={() => setDeleting(null)}
        />
      )}
    </>
  );
}
