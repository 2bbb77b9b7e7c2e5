import { Link } from 'wouter';
import { saveCsv } from '../../api/csv.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Badge, Time } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/field.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Card, Empty } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Toolbar } from '../../parts/toolbar.tsx';
import { useWords } from '../../words/words.ts';
import { personPath } from '../people/address.ts';
import css from './sign-in.module.css';
import type { ProviderEvents } from './status.ts';
import { reasonOf, Table } from './table.tsx';
import { WaitingCards } from './waiting.tsx';

const TONES = {
  applied: 'good',
  sent: 'good',
  unchanged: 'neutral',
  ignored: 'neutral',
  duplicate: 'neutral',
  refused: 'bad',
  unresolved: 'bad',
  failed: 'bad',
} as const;

/** What the provider reported or asked for, and what came of it. */
export function Events() {
  const { signIn: words, common } = useWords();
  const filters = useFilters({ q: '', outcome: '' });
  const { q, outcome } = filters.values;
  const read = useRead('GET /api/idp/admin/events', {});
  if (read.isPending) return <Loading rows={6} />;
  if (read.data === undefined) return <Problem error={asError(read.error)} onRetry={() => void read.refetch()} />;
  const { events, fallbacks, unknownOrganizations, unresolved, emailChanges } = read.data.data;
  const wanted = q.toLowerCase();
  const shown = events.filter((event) => {
    const text = [event.eventType, event.email, event.orgId, event.reason].join('\n').toLowerCase();
    return text.includes(wanted) && (outcome === '' || event.outcome === outcome);
  });
  return (
    <>
      <WaitingCards unresolved={unresolved} emailChanges={emailChanges} />
      <Counts fallbacks={fallbacks} unknownOrganizations={unknownOrganizations} />
      <Toolbar>
        <SearchField label={common.search} value={q} onText={(text) => filters.set({ q: text })} />
        <SelectField
          bare
          label={words.outcome}
          value={outcome}
          options={[
            ['', words.anyOutcome],
            ...Object.keys(TONES).map((one) => [one, words.outcomes[one as keyof typeof TONES]] as const),
          ]}
          onText={(value) => filters.set({ outcome: value })}
        />
        <Button
          kind="quiet"
          disabled={shown.length === 0 && common.missing.rows}
          onClick={() =>
            saveCsv('sign-in-events.csv', [
              [words.at, words.source, words.event, common.email, words.organization, words.outcome, words.reason],
              ...shown.map((one) => [one.at, one.source, one.eventType, one.email, one.orgId, one.outcome, one.reason]),
            ])
          }
        >
          {common.export}
        </Button>
      </Toolbar>
      {shown.length === 0 && <Empty title={events.length === 0 ? words.noEvents : common.noMatch} />}
      {shown.length > 0 && <EventTable events={shown} />}
    </>
  );
}

function EventTable({ events }: { events: ProviderEvents['events'] }) {
  const { signIn: words, common } = useWords();
  return (
    <Table label={words.views.events} heads={[words.at, words.event, common.email, words.outcome, words.reason]}>
      {events.map(({ id, at, source, eventType, email, orgId, outcome, reason, leftOut }) => (
        <tr key={id}>
          <td>
            <Time iso={at} />
          </td>
          <td>
            <code>{eventType ?? '–'}</code> <span className={css.soft}>{words.sources[source]}</span>
            {orgId !== null && <span className={css.soft}> · {orgId}</span>}
          </td>
          <td>{email === null ? '–' : <Link href={personPath(email)}>{email}</Link>}</td>
          <td>
            <Badge tone={TONES[outcome]}>{words.outcomes[outcome]}</Badge>
          </td>
          <td>
            {reason !== null && <span title={reason}>{reasonOf(reason, words.reasons)}</span>}
            {leftOut.length > 0 && (
              <span className={css.soft}>
                {words.leftOut}: <code>{leftOut.join(', ')}</code>
              </span>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Mails in the provider's own words, and those of organizations that no brand sends for. */
function Counts({ fallbacks, unknownOrganizations }: Pick<ProviderEvents, 'fallbacks' | 'unknownOrganizations'>) {
  const { signIn: words } = useWords();
  if (fallbacks.length + unknownOrganizations.length === 0) return null;
  return (
    <div className={css.cards}>
      {unknownOrganizations.length > 0 && (
        <Card title={words.unknownOrganizations} actions={<Link href="/brands">{words.openBrands}</Link>}>
          <p className={css.soft}>{words.unknownOrganizationsWhy}</p>
          <Table label={words.unknownOrganizations} heads={[words.organization, words.count, words.lastHeard]}>
            {unknownOrganizations.map(({ orgId, count, lastAt }) => (
              <tr key={orgId}>
                <td>
                  <code>{orgId ?? '–'}</code>
                </td>
                <td>{count}</td>
                <td>
                  <Time iso={lastAt} />
                </td>
              </tr>
            ))}
          </Table>
        </Card>
      )}
      {fallbacks.length > 0 && (
        <Card title={words.fallbacks} actions={<Link href="/sign-in/mails">{words.views.mails}</Link>}>
          <p className={css.soft}>{words.fallbacksWhy}</p>
          <Table label={words.fallbacks} heads={[words.event, words.reason, words.count]}>
            {fallbacks.map(({ eventType, reason, count }) => (
              <tr key={`${eventType}\n${reason}`}>
                <td>
                  <code>{eventType ?? '–'}</code>
                </td>
                <td>{reasonOf(reason, words.reasons)}</td>
                <td>{count}</td>
              </tr>
            ))}
          </Table>
        </Card>
      )}
    </div>
  );
}
