import { call } from '../../api/call.ts';
import { useRead } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Badge, Time } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Card, Facts } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useFormats, useWords } from '../../words/words.ts';
import css from './sign-in.module.css';

const TONES = { done: 'good', braked: 'bad', failed: 'warn' } as const;

/** How the last comparison of people with the provider ended; and one that changes nothing, to try. */
export function Reconciliation({ isReachable }: { isReachable: boolean }) {
  const { signIn: words } = useWords();
  const formats = useFormats();
  const overview = useRead('GET /api/admin/overview', {});
  const writing = useWrite({ done: words.compared, refreshes: ['/api/admin/overview'] });
  const last = overview.data?.data.provider?.reconciliation ?? null;
  const lost = last === null ? 0 : Object.values(last.found).reduce((sum, count) => sum + count, 0);
  const compare = () => call('POST /api/idp/reconcile', { query: { dryRun: true }, body: {} });
  return (
    <Card title={words.reconciliation}>
      {last === null ? (
        <p className={css.soft}>{words.neverCompared}</p>
      ) : (
        <Facts
          facts={[
            [words.at, <Time key="at" iso={last.endedAt} />],
            [
              words.outcome,
              <Badge key="outcome" tone={TONES[last.outcome]}>
                {words.compareOutcomes[last.outcome]}
              </Badge>,
            ],
            [last.dryRun ? words.wouldChange : words.lostEvents, formats.number(lost)],
          ]}
        />
      )}
      <Problem error={writing.error} />
      {isReachable && (
        <div className={css.acts}>
          <Button busy={writing.busy} onClick={() => void writing.run(compare)}>
            {words.compare}
          </Button>
        </div>
      )}
    </Card>
  );
}
