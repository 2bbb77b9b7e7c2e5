import { useMemo } from 'react';
import { Link } from 'wouter';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Badge, Time } from '../../parts/badge.tsx';
import { SelectField } from '../../parts/field.tsx';
import { Card } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useFormats, useWords } from '../../words/words.ts';
import { Bars } from './bars.tsx';
import type { LogFilters } from './log-filters.ts';
import css from './notifications.module.css';
import { Reason } from './reason.tsx';
import { STATUSES } from './sends.ts';
import { barsOf, reasonsOf, totalsOf } from './stats.ts';

interface HealthProps {
  readonly values: LogFilters;
  readonly set: (changes: Partial<LogFilters>) => void;
}

/** How sending goes: what waits, what fails, and deliveries by the hour with the reasons of those that did not arrive. */
export function Health({ values, set }: HealthProps) {
  const { notifications: words } = useWords();
  const overview = useRead('GET /api/admin/overview', {}).data?.data;
  const formats = useFormats();
  return (
    <div className={css.health}>
      <section className={css.strip} aria-label={words.last24}>
        {STATUSES.map((status) => (
          <button
            key={status}
            type="button"
            className={css.figure}
            aria-pressed={values.status === status}
            onClick={() => set({ status: values.status === status ? '' : status })}
          >
            <strong>{overview === undefined ? '–' : formats.number(overview.sends[status])}</strong>
            <span>{words.statuses[status]}</span>
          </button>
        ))}
        <div className={css.waiting}>
          <span className={css.soft}>{words.oldest}</span>
          {overview?.oldestWaiting ? <Time iso={overview.oldestWaiting} /> : overview ? words.nothingWaits : '–'}
        </div>
        {overview !== undefined && overview.failingBrands.length > 0 && (
          <div className={css.waiting}>
            <span className={css.soft}>{words.failingBrands}</span>
            <span className={css.badges}>
              {overview.failingBrands.map(({ slug, failures, reason }) => (
                <Link key={slug} href={`/brands/${encodeURIComponent(slug)}`}>
                  <Badge tone="bad" title={words.reasons[reason]?.[0] ?? reason}>
                    {slug} · {formats.number(failures)}
                  </Badge>
                </Link>
              ))}
            </span>
          </div>
        )}
      </section>
      <Deliveries values={values} set={set} />
    </div>
  );
}

const CHANNELS = ['email', 'push'] as const;

function Deliveries({ values, set }: HealthProps) {
  const { notifications: words } = useWords();
  const formats = useFormats();
  const hours = values.hours in words.periods ? Number(values.hours) : 24;
  const stats = useRead(
    'GET /api/admin/notifications/stats',
    { query: { hours, appCode: values.app } },
    { keep: true },
  );
  const counted = stats.data?.data;
  const since = stats.data?.since ?? null;
  const brands = [...new Set([...(counted?.map(({ brand }) => brand) ?? []), values.brand].filter(Boolean))].sort();
  const shown = useMemo(() => {
    const rows = (counted ?? []).filter(
      ({ brand, channel }) =>
        (values.brand === '' || brand === values.brand) && (values.channel === '' || channel === values.channel),
    );
    const bars = barsOf(rows, hours, stats.dataUpdatedAt || Date.now());
    return { bars, totals: totalsOf(bars), reasons: reasonsOf(rows) };
  }, [counted, values.brand, values.channel, hours, stats.dataUpdatedAt]);
  const { bars, totals, reasons } = shown;
  const begin = stats.dataUpdatedAt - hours * 3_600_000;
  const isCut = since !== null && Date.parse(since) - begin > 3_600_000;
  return (
    <Card
      title={words.byHour}
      actions={
        <div className={css.choices}>
          <SelectField
            bare
            label={words.channel}
            value={values.channel}
            options={[['', words.anyChannel], ...CHANNELS.map((one) => [one, words.channels[one]] as const)]}
            onText={(channel) => set({ channel })}
          />
          <SelectField
            bare
            label={words.brand}
            value={values.brand}
            options={[['', words.anyBrand], ...brands.map((one) => [one, one] as const)]}
            onText={(brand) => set({ brand })}
          />
          <SelectField
            bare
            label={words.period}
            value={String(hours)}
            options={Object.entries(words.periods)}
            onText={(period) => set({ hours: period })}
          />
        </div>
      }
    >
      <div className={css.chart}>
        {stats.isPending && <Loading rows={3} />}
        {stats.isError && <Problem error={asError(stats.error)} onRetry={() => void stats.refetch()} />}
        {counted !== undefined && totals.sent + totals.failed === 0 && <p className={css.soft}>{words.noDeliveries}</p>}
        {counted !== undefined && totals.sent + totals.failed > 0 && (
          <div className={css.split}>
            <div>
              <p className={css.legend}>
                <span className={css.keySent}>{words.arrived(totals.sent)}</span>
                <span className={css.keyFailed}>{words.missed(totals.failed)}</span>
              </p>
              <Bars bars={bars} />
              {isCut && <p className={css.soft}>{words.incomplete(formats.moment(since))}</p>}
            </div>
            <div className={css.reasons}>
              <h3>{words.whyNot}</h3>
              {reasons.length === 0 && <p className={css.soft}>{words.allArrived}</p>}
              <ul>
                {reasons.map(({ reason, count, brands: of }) => (
                  <li key={reason}>
                    <span className={css.count}>{formats.number(count)}</span>
                    <span>
                      <Reason code={reason} help />
                      <span className={css.soft}>{words.ofBrands(of.join(', '))}</span>
                    </span>
                  </li>
                ))}
              </ul>
            </div>
          </div>
        )}
      </div>
    </Card>
  );
}
