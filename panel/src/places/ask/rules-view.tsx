import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useRead } from '../../api/queries.ts';
import { Level } from '../../parts/badge.tsx';
import { type GrantWindow, windowOf } from '../../parts/until.ts';
import { WindowBadge } from '../../parts/window-badge.tsx';
import { useFormats, useWords } from '../../words/words.ts';
import css from './ask.module.css';
import { type AuditRecord, adminGiven, type Given, overrideGiven, roleGiven } from './given.ts';
import { type Question, recordOf } from './question.ts';
import { applies, type Explained, overrideOf, type Rule, rolesOf, type Standing, standingOf } from './rules.ts';

interface RulesProps {
  readonly question: Question;
  readonly explained: Explained;
  /** Null without a service: then nobody knows who gave what. */
  readonly settled: Question | null;
  readonly global: boolean;
}

/** The six rules in their order: what each says by itself, and which of them decides. */
export function RulesView({ question, explained, settled, global }: RulesProps) {
  const { ask: words } = useWords();
  const given = useGiven(settled, explained);
  return (
    <section className={css.rules} aria-label={words.rules.title}>
      <header className={css.sectionHead}>
        <h2>{words.rules.title}</h2>
        <p className={css.soft}>{words.rules.lead}</p>
      </header>
      <ol className={css.ruleList}>
        {explained.rules.map((rule) => {
          const standing = standingOf(rule, explained.rule);
          return (
            <li key={rule.rule} className={`${css.rule} ${css[standing]}`} aria-current={rule.decides || undefined}>
              <span className={css.ruleName}>{words.rules.names[rule.name]}</span>
              <span className={css.ruleText}>
                <RuleText rule={rule} question={question} explained={explained} global={global} given={given} />
              </span>
              <Outcome rule={rule} standing={standing} />
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function Outcome({ rule, standing }: { rule: Rule; standing: Standing }) {
  const { ask: words, common } = useWords();
  const { standings, would, wouldNothing } = words.rules;
  const level = rule.accessLevel === null ? common.levels.denied : common.levels[rule.accessLevel];
  const unreached = rule.applies ? would(level) : wouldNothing;
  return (
    <span className={css.outcome}>
      {standing === 'decides' && <Level level={rule.accessLevel ?? 'denied'} />}
      <span className={css.standing}>
        {standings[standing]}
        {standing === 'unreached' && `, ${unreached}`}
      </span>
    </span>
  );
}

interface TextProps {
  readonly rule: Rule;
  readonly question: Question;
  readonly explained: Explained;
  readonly global: boolean;
  readonly given: readonly AuditRecord[] | null;
}

function RuleText({ rule, question, explained, global, given }: TextProps): ReactNode {
  const { ask } = useWords();
  const words = ask.rules;
  const base = given === null ? null : `/applications/${encodeURIComponent(question.app)}`;
  switch (rule.name) {
    case 'inactive':
    case 'superadmin':
      return words[rule.name][rule.applies ? 'yes' : 'no'];
    case 'app_admin':
      return (
        <>
          {words.app_admin[rule.applies ? 'yes' : 'no']}
          <Window {...rule} />
          {rule.applies && given !== null && <By given={adminGiven(given)} />}
        </>
      );
    case 'override':
      return <OverrideText question={question} explained={explained} global={global} given={given} base={base} />;
    case 'roles':
      return <RolesText explained={explained} given={given} base={base} />;
    case 'default':
      return words.default;
  }
}

interface Cause {
  readonly explained: Explained;
  readonly given: readonly AuditRecord[] | null;
  /** The panel's address of the application; null in the playground, where nothing is linked. */
  readonly base: string | null;
}

function OverrideText({ question, explained, global, given, base }: Cause & { question: Question; global: boolean }) {
  const { ask, common } = useWords();
  const words = ask.rules.override;
  const override = overrideOf(explained);
  const record = recordOf(question);
  if (override === null) return record === '' ? words.noRecord : global ? words.global : words.none(record);
  const href = `${base}/records/of/${encodeURIComponent(question.resourceType)}/${encodeURIComponent(question.resourceId)}`;
  return (
    <>
      {base === null ? words.for(record) : <Link href={href}>{words.for(record)}</Link>}{' '}
      {override.granted ? words.grants(common.levels[override.accessLevel ?? 'none']) : words.denies}
      <Window {...override} />
      {given !== null && <By given={overrideGiven(given, question)} />}
    </>
  );
}

function RolesText({ explained, given, base }: Cause) {
  const { ask, common } = useWords();
  const words = ask.rules.roles;
  const roles = rolesOf(explained);
  if (roles.length === 0) return words.none;
  return (
    <ul className={css.roleList}>
      {roles.map(({ code, accessLevel, ...window }) => (
        <li key={code}>
          {base === null ? code : <Link href={`${base}/matrix/${encodeURIComponent(code)}`}>{code}</Link>}{' '}
          {accessLevel === null ? words.givesNothing : `${words.gives} ${common.levels[accessLevel]}`}
          <Window {...window} />
          {given !== null && <By given={roleGiven(given, code)} />}
        </li>
      ))}
    </ul>
  );
}

/** When what a rule rests on begins or ends. */
function Window(given: Partial<GrantWindow>) {
  const window = windowOf(given);
  if (window.startsAt === null && window.endsAt === null) return null;
  return (
    <>
      {' '}
      <WindowBadge {...window} />
    </>
  );
}

function By({ given }: { given: Given | null }) {
  const { ask } = useWords();
  const formats = useFormats();
  if (given === null) return null;
  const { actors } = ask.rules;
  const actor = actors[given.actor as keyof typeof actors] ?? given.actor.replace(/^user:/, '');
  return (
    <span className={css.by} title={formats.moment(given.at)}>
      {' '}
      ({ask.rules.given(actor, formats.ago(given.at))})
      {given.reason !== null && (
        <>
          {' '}
          <q>{given.reason}</q>
        </>
      )}
    </span>
  );
}

/** The audit records about the person in the application, once typing pauses and there is something to look for. */
function useGiven(settled: Question | null, explained: Explained): readonly AuditRecord[] | null {
  const wanted = applies(explained, 'override') || rolesOf(explained).length > 0 || applies(explained, 'app_admin');
  const input = { path: { appCode: settled?.app ?? '' }, query: { person: settled?.email.trim(), limit: 100 } };
  const enabled = wanted && settled !== null && settled.app !== '' && settled.email.trim() !== '';
  const records = useRead('GET /api/applications/{appCode}/audit', input, { enabled });
  return settled === null ? null : (records.data?.data ?? []);
}
