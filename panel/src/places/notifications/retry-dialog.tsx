import { useState } from 'react';
import type { Out } from '../../../../src/gen/api.ts';
import { call } from '../../api/call.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Facts } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import type { LogFilters } from './log-filters.ts';
import { mayRetry } from './sends.ts';

type Retried = Out<'POST /api/admin/notifications/retry'>;

/** The most that one page of the log holds: what is more is "more than". */
const COUNTED = 200;

/** Queues again what failed, within the filter of the log. How many that are is said first. */
export function RetryDialog({ values, onClose }: { values: LogFilters; onClose: () => void }) {
  const { notifications: words, common } = useWords();
  const { app: appCode, type, brand } = values;
  const status = values.status === 'failed' || values.status === 'partial' ? values.status : undefined;
  const rights = useRights();
  const [retried, setRetried] = useState<Retried | null>(null);
  const shared = { type, appCode, limit: COUNTED };
  const failed = useRead(
    'GET /api/admin/notifications',
    { query: { ...shared, status: 'failed' } },
    { enabled: status !== 'partial', staleTime: 0 },
  );
  const partial = useRead(
    'GET /api/admin/notifications',
    { query: { ...shared, status: 'partial' } },
    { enabled: status !== 'failed', staleTime: 0 },
  );
  const asked = [...(status === 'partial' ? [] : [failed]), ...(status === 'failed' ? [] : [partial])];
  const found = asked.flatMap(({ data }) => data?.data ?? []).filter((sent) => mayRetry(rights, sent));
  const pending = asked.some(({ isPending }) => isPending);
  const broken = asked.find(({ isError }) => isError);
  const more = asked.some(({ data }) => data?.next != null);
  const writing = useWrite(() => ({ done: words.retried, refreshes: ['/api/admin', '/api/applications'] }));
  const retry = () =>
    writing.run(async () => {
      const body = {
        ...(appCode === '' ? {} : { appCode }),
        ...(type === '' ? {} : { type }),
        ...(brand === '' ? {} : { brand }),
        ...(status === undefined ? {} : { status: status as 'failed' | 'partial' }),
      };
      const answer = await call('POST /api/admin/notifications/retry', { body }, { timeoutMs: 120_000 });
      setRetried(answer.data);
    });
  const none = !more && found.length === 0;
  const scope = [
    [common.application, appCode],
    [words.type, type],
    [words.brand, brand],
    [common.status, status === undefined ? '' : words.statuses[status]],
  ] as const;
  const chosen = scope.filter(([, value]) => value !== '');
  return (
    <Dialog
      title={words.retryTitle}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{retried === null ? common.cancel : common.close}</Button>
          {retried === null && (
            <Button
              kind="primary"
              busy={writing.busy}
              disabled={pending ? common.missing.wait : none && words.retryNone}
              onClick={() => void retry()}
            >
              {words.retryDo}
            </Button>
          )}
        </>
      }
    >
      <Problem error={writing.error} />
      {retried === null ? (
        <>
          {pending && <Loading rows={1} />}
          {broken && <Problem error={asError(broken.error)} onRetry={() => void broken.refetch()} />}
          {!pending && !broken && (
            <p role="status">
              {none ? words.retryNone : more ? words.retryAtLeast(found.length) : words.retryCount(found.length)}
            </p>
          )}
          {chosen.length > 0 && <Facts facts={chosen} />}
          {brand !== '' && <p>{words.retryBrand}</p>}
          <p>{words.retryLimit}</p>
        </>
      ) : (
        <p role="status">
          {words.retriedMany(retried.notifications, retried.deliveries)} {retried.more && words.retriedMore}
        </p>
      )}
    </Dialog>
  );
}
