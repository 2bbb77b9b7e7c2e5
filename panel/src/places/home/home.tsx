import { Suspense } from 'react';
import { Link } from 'wouter';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { ButtonLink } from '../../parts/button.tsx';
import { onDemand } from '../../parts/on-demand.ts';
import { Card, Page } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import type { PanelConfig } from '../../session/config.ts';
import { useRecents } from '../../shell/recents.ts';
import { useRights } from '../../shell/rights.ts';
import { useFormats, useWords } from '../../words/words.ts';
import css from './home.module.css';
import { LastChanges } from './last-changes.tsx';
import { type Need, needsOf, type Overview } from './needs.ts';
import { applicationOf, DEMONSTRATION, QUESTIONS } from './tour.ts';
import { Tour } from './tour-card.tsx';

const OwnAccess = onDemand(async () => ({ default: (await import('./own-access.tsx')).OwnAccess }), 'home', 'people');

/** What needs somebody now; what the panel cannot do for somebody without a right. */
export default function Home({ config }: { config: PanelConfig }) {
  const { home: words, shell } = useWords();
  const rights = useRights();
  if (!rights.any) {
    return (
      <Page title={words.title} lead={shell.noRights}>
        <p>{shell.noRightsWhy(rights.email)}</p>
        <Suspense fallback={<Loading rows={4} />}>
          <OwnAccess />
        </Suspense>
      </Page>
    );
  }
  return (
    <Page
      title={words.title}
      actions={
        config.mailbox && (
          <ButtonLink kind="quiet" href="/mailbox">
            {words.mailbox}
          </ButtonLink>
        )
      }
    >
      <Now />
      <Tour />
      <div className={css.columns}>
        <LastChanges />
        <Recents />
      </div>
    </Page>
  );
}

/** Counted up to this many; more are "50+". */
const ORPHANS = 50;

function Now() {
  const overview = useRead('GET /api/admin/overview', {});
  const orphans = useRead('GET /api/users', { query: { orphan: 'true', limit: ORPHANS } });
  if (overview.isPending) return <Loading rows={3} />;
  if (overview.data === undefined) {
    return <Problem error={asError(overview.error)} onRetry={() => void overview.refetch()} />;
  }
  const { data } = overview.data;
  const found = { count: orphans.data?.data.length ?? 0, more: orphans.data?.next != null };
  const needs = needsOf(data, found, Date.now());
  return (
    <>
      {needs.length === 0 ? <Quiet /> : <Needs needs={needs} />}
      <Counts overview={data} />
    </>
  );
}

function Needs({ needs }: { needs: readonly Need[] }) {
  const { home: words } = useWords();
  const formats = useFormats();
  return (
    <ul className={css.needs} aria-label={words.needs}>
      {needs.map(({ kind, count, more, detail, href, tone }) => (
        <li key={kind}>
          <Link href={href} className={`${css.need} ${css[tone]}`}>
            <strong className={css.number}>
              {count === null ? '!' : `${formats.number(count)}${more ? '+' : ''}`}
            </strong>
            <span className={css.name}>{words.need[kind]}</span>
            <span className={css.line}>
              {kind === 'brands' ? detail : words.needWhy[kind](detail === null ? null : formats.ago(detail))}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** Nothing is wrong: the demonstration has questions, everything else one field. */
function Quiet() {
  const { home: words } = useWords();
  const isDemonstration = applicationOf(useRights()) === DEMONSTRATION;
  return (
    <section className={css.quiet} aria-label={words.quiet}>
      <p>
        <strong>{words.quiet}</strong> {words.askSomething}
      </p>
      <ul>
        {isDemonstration ? (
          QUESTIONS.map((href, at) => (
            <li key={href}>
              <Link href={href}>{words.questions[at]}</Link>
            </li>
          ))
        ) : (
          <li>
            <Link href="/ask">{words.anyQuestion}</Link>
          </li>
        )}
      </ul>
    </section>
  );
}

function Counts({ overview: { counts, sends } }: { overview: Overview }) {
  const { home: words } = useWords();
  const formats = useFormats();
  const rights = useRights();
  const people = `${formats.number(counts.people)}${counts.morePeople ? '+' : ''}`;
  const shown = [
    ['/applications', formats.number(counts.applications), words.count.applications(counts.applications)],
    ['/people', people, words.count.people(counts.people)],
    [null, formats.number(counts.roles), words.count.roles(counts.roles)],
    [null, formats.number(counts.permissions), words.count.permissions(counts.permissions)],
    [null, formats.number(counts.appAdmins), words.count.appAdmins(counts.appAdmins)],
    [rights.any ? '/notifications' : null, formats.number(sends.sent), words.count.sent(sends.sent)],
  ] as const;
  return (
    <ul className={css.counts} aria-label={words.counts}>
      {shown.map(([href, number, name]) => (
        <li key={name}>
          <strong>{number}</strong> {href === null ? <span>{name}</span> : <Link href={href}>{name}</Link>}
        </li>
      ))}
    </ul>
  );
}

function Recents() {
  const { home: words, shell } = useWords();
  const recents = useRecents();
  return (
    <Card title={words.recents}>
      {recents.length === 0 && <p className={css.soft}>{words.noRecents}</p>}
      <ul className={css.recents}>
        {recents.map(({ kind, href, label }) => (
          <li key={href}>
            <Link href={href}>{label}</Link> <span className={css.soft}>{shell.found[kind]}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
