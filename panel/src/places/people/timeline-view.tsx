import { useState } from 'react';
import { Link } from 'wouter';
import { differencesOf } from '../../../../src/base/audit-differences.ts';
import { asError } from '../../api/error.ts';
import { type Listed, useList } from '../../api/queries.ts';
import { actorOf } from '../../parts/actor.ts';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/field.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useRights } from '../../shell/rights.ts';
import { useFormats, useWords } from '../../words/words.ts';
import { Actor } from '../activity/actor-link.tsx';
import type { AuditRecord } from '../activity/changes.ts';
import { Moved, Told } from '../activity/told.tsx';
import css from './timeline.module.css';
import { dayOf, inMargin } from './timeline.ts';

/** What happened to a person, and what they did, the newest first. Of one application at a time for who sees only some. */
export function Timeline({ email, apps }: { email: string; apps: readonly string[] }) {
  const { people: words, common } = useWords();
  const rights = useRights();
  const [chosen, setChosen] = useState('');
  const app = chosen || (apps[0] ?? '');
  const everything = useList('GET /api/admin/audit', { query: { person: email } }, rights.isSuperAdmin);
  const query = { path: { appCode: app }, query: { person: email } };
  const ofOne = useList('GET /api/applications/{appCode}/audit', query, !rights.isSuperAdmin && app !== '');
  const listed = rights.isSuperAdmin ? everything : ofOne;
  return (
    <aside className={css.timeline} aria-label={words.timeline}>
      <header className={css.header}>
        <h2>{words.timeline}</h2>
        {!rights.isSuperAdmin && apps.length > 1 && (
          <SelectField
            bare
            label={common.application}
            value={app}
            options={apps.map((code) => [code, code] as const)}
            onText={setChosen}
          />
        )}
        <Link href={`/activity?person=${encodeURIComponent(email)}`}>{words.inActivity}</Link>
      </header>
      {(rights.isSuperAdmin || app !== '') && <Records listed={listed} email={email} />}
    </aside>
  );
}

function Records({ listed: { items, query }, email }: { listed: Listed<AuditRecord>; email: string }) {
  const { people: words, common } = useWords();
  const formats = useFormats();
  if (query.isPending) return <Loading rows={4} />;
  if (query.isError && items.length === 0) {
    return <Problem error={asError(query.error)} onRetry={() => void query.refetch()} />;
  }
  if (items.length === 0) return <p className={css.soft}>{words.nothingHappened}</p>;
  return (
    <>
      <ol className={css.records}>
        {items.map((record, at) => (
          <li key={record.id}>
            {(at === 0 || dayOf(items[at - 1]?.at ?? '') !== dayOf(record.at)) && (
              <h3 className={css.day}>{formats.day(record.at)}</h3>
            )}
            <Happened record={record} email={email} />
          </li>
        ))}
      </ol>
      {query.hasNextPage && (
        <Button kind="quiet" busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          {common.more}
        </Button>
      )}
    </>
  );
}

function Happened({ record, email }: { record: AuditRecord; email: string }) {
  const formats = useFormats();
  const actor = actorOf(record.actor);
  return (
    <article className={css.record}>
      <p className={css.what}>
        <Told record={record} />
      </p>
      {inMargin(differencesOf(record)).map(({ name, before, after }) => (
        <p key={name} className={css.difference}>
          <bdi className={css.soft}>{name}</bdi> <Moved before={before} after={after} />
        </p>
      ))}
      <p className={css.soft}>
        <time dateTime={record.at} title={formats.moment(record.at)}>
          {formats.time(record.at)}
        </time>
        {' · '}
        {actor.kind === 'user' && actor.name === email ? email : <Actor actor={record.actor} />}
      </p>
    </article>
  );
}
