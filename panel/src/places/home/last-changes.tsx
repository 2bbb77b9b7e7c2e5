import { Link } from 'wouter';
import type { Item } from '../../../../src/gen/api.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { actorName } from '../../parts/actor.ts';
import { Time } from '../../parts/badge.tsx';
import { Card } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import { Told } from '../activity/told.tsx';
import css from './home.module.css';
import { applicationOf } from './tour.ts';

const SHOWN = 8;

/** The last records of the audit: of everything for SuperAdmins, of the first application for others. */
export function LastChanges() {
  const { home: words } = useWords();
  const rights = useRights();
  const app = rights.isSuperAdmin ? null : applicationOf(rights);
  const everything = useRead('GET /api/admin/audit', { query: { limit: SHOWN } }, { enabled: rights.isSuperAdmin });
  const ofOne = useRead(
    'GET /api/applications/{appCode}/audit',
    { path: { appCode: app ?? '' }, query: { limit: SHOWN } },
    { enabled: app !== null },
  );
  const read = rights.isSuperAdmin ? everything : ofOne;
  if (!rights.isSuperAdmin && app === null) return null;
  return (
    <Card
      title={app === null ? words.changes : words.changesOf(app)}
      actions={<Link href={app === null ? '/activity' : `/activity?app=${encodeURIComponent(app)}`}>{words.all}</Link>}
    >
      {read.isPending && <Loading rows={4} />}
      {read.isError && <Problem error={asError(read.error)} onRetry={() => void read.refetch()} />}
      {read.data?.data.length === 0 && <p className={css.soft}>{words.noChanges}</p>}
      <ol className={css.changes}>
        {read.data?.data.map((record) => (
          <Change key={record.id} record={record} />
        ))}
      </ol>
    </Card>
  );
}

function Change({ record }: { record: Item<'GET /api/admin/audit'> }) {
  const words = useWords();
  const { at, actor } = record;
  return (
    <li>
      <span className={css.what}>
        <Told record={record} />
      </span>
      <span className={css.who}>
        {actorName(actor, words)} · <Time iso={at} />
      </span>
    </li>
  );
}
