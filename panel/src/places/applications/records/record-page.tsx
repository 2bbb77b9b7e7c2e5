import { useRead } from '../../../api/queries.ts';
import { ButtonLink } from '../../../parts/button.tsx';
import { CopyButton } from '../../../parts/copy.tsx';
import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../view-props.ts';
import { Overrides } from './overrides.tsx';
import css from './records.module.css';

/** Everybody for whom one record is different. */
export function RecordPage({ type, id, ...view }: ViewProps & { type: string; id: string }) {
  const { applications, common } = useWords();
  const words = applications.records;
  const path = { appCode: view.appCode };
  const entity = useRead('GET /api/applications/{appCode}/entities', { path }).data?.data.find(
    ({ code }) => code === type,
  );
  // An id with a comma would be two.
  const named = useRead(
    'GET /api/applications/{appCode}/entities/{entityCode}/items',
    { path: { ...path, entityCode: type }, query: { ids: encodeURIComponent(id) } },
    { enabled: Boolean(entity?.listEndpoint), staleTime: 60_000 },
  ).data?.data.items.find((item) => item.id === id);
  const question = new URLSearchParams({ app: view.appCode, resourceType: type, resourceId: id });
  return (
    <>
      <div className={css.head}>
        <h2>
          {words.ofRecord(entity?.name ?? type, id)} {named !== undefined && <bdi>{named.label}</bdi>}
        </h2>
        <span>
          <CopyButton text={() => location.href} label={common.copyLink} />
          <ButtonLink kind="quiet" href={`/ask/who?${question}`}>
            {words.whoCan}
          </ButtonLink>
          <ButtonLink kind="quiet" href={`/ask?${question}`}>
            {words.ask}
          </ButtonLink>
        </span>
      </div>
      <Overrides {...view} record={{ type, id }} />
    </>
  );
}
