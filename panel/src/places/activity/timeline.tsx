import { useMemo, useState } from 'react';
import { type Difference, differencesOf } from '../../../../src/base/audit-differences.ts';
import { asError } from '../../api/error.ts';
import type { Listed } from '../../api/queries.ts';
import { More } from '../../parts/list.tsx';
import { Empty } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useFormats, useWords } from '../../words/words.ts';
import { Actor } from './actor-link.tsx';
import { type AuditRecord, byDay, type Group } from './changes.ts';
import { Details } from './details.tsx';
import { sentenceText } from './sentence.ts';
import css from './timeline.module.css';
import { Moved, Told } from './told.tsx';

interface TimelineProps {
  readonly listed: Listed<AuditRecord>;
  /** Whether some filter is set: an empty list says so. */
  readonly filtered: boolean;
  /** The records are of one application: it need not be named. */
  readonly ofApplication?: boolean;
  readonly mayEdit: (appCode: string) => boolean;
}

/** Differences of a record that are shown in its line. */
const IN_LINE = 4;
/** Records of one request that are shown before the rest is asked for. */
const IN_GROUP = 5;
const LONG = 60;

/** Records by day and by request, the newest first. */
export function Timeline({ listed, filtered, ofApplication = false, mayEdit }: TimelineProps) {
  const { activity: words, common } = useWords();
  const formats = useFormats();
  const { query, items } = listed;
  const days = useMemo(() => byDay(items, formats.day), [items, formats]);
  if (query.isPending) return <Loading rows={6} />;
  if (query.isError && items.length === 0)
    return <Problem error={asError(query.error)} onRetry={() => void query.refetch()} />;
  if (items.length === 0 && !query.hasNextPage) return <Empty title={filtered ? common.noMatch : words.empty} />;
  return (
    <div className={css.timeline} aria-busy={query.isFetching}>
      {days.map(({ day, groups }) => (
        <section key={day} className={css.day}>
          <h2>{day}</h2>
          <ol className={css.groups}>
            {groups.map((group) => (
              <li key={group.id}>
                <Together group={group} ofApplication={ofApplication} mayEdit={mayEdit} />
              </li>
            ))}
          </ol>
        </section>
      ))}
      <More listed={listed} />
    </div>
  );
}

type Shared = Pick<TimelineProps, 'mayEdit'> & { readonly ofApplication: boolean };

function Together({ group: { records }, ...shared }: Shared & { group: Group }) {
  const { activity: words } = useWords();
  const [all, setAll] = useState(false);
  const shown = all ? records : records.slice(0, IN_GROUP);
  const rest = records.length - shown.length;
  return (
    <>
      {shown.map((record, at) => (
        <Entry key={record.id} record={record} first={at === 0} {...shared} />
      ))}
      {rest > 0 && (
        <div className={`${css.line} ${css.inner}`}>
          <span />
          <span />
          <button type="button" className={css.open} onClick={() => setAll(true)}>
            {words.more(rest)}
          </button>
        </div>
      )}
    </>
  );
}

function Entry({ record, first, ofApplication, mayEdit }: Shared & { record: AuditRecord; first: boolean }) {
  const { activity: words } = useWords();
  const formats = useFormats();
  const [open, setOpen] = useState(false);
  const differences = useMemo(() => differencesOf(record), [record]);
  return (
    <>
      <div className={`${css.line} ${first ? '' : css.inner}`}>
        <time className={css.time} dateTime={record.at} title={formats.moment(record.at)}>
          {first && formats.time(record.at)}
        </time>
        <span className={css.who}>{first && <Actor actor={record.actor} />}</span>
        <div className={css.what}>
          <span className={css.headline}>
            <Told record={record} ofApplication={ofApplication} />
          </span>
          {!open && <Moves differences={differences} />}
        </div>
        <span className={css.tools}>
          <button
            type="button"
            className={css.open}
            aria-expanded={open}
            aria-label={`${words.details}: ${sentenceText(record, words)}`}
            onClick={() => setOpen(!open)}
          >
            {words.details}
          </button>
        </span>
      </div>
      {open && <Details record={record} differences={differences} mayEdit={mayEdit} />}
    </>
  );
}

/** The first differences, in a line. */
function Moves({ differences }: { differences: readonly Difference[] }) {
  const { activity: words } = useWords();
  if (differences.length === 0) return null;
  return (
    <span className={css.moves}>
      {differences.slice(0, IN_LINE).map(({ name, before, after }) => (
        <span key={name}>
          <bdi>{name}</bdi> <Moved before={cut(before)} after={cut(after)} />
        </span>
      ))}
      {differences.length > IN_LINE && <span>{words.more(differences.length - IN_LINE)}</span>}
    </span>
  );
}

function cut(text: string | null): string | null {
  return text !== null && text.length > LONG ? `${text.slice(0, LONG - 1).toWellFormed()}…` : text;
}
