import { useState } from 'react';
import { differencesOf } from '../../../../../src/base/audit-differences.ts';
import { call } from '../../../api/call.ts';
import { ApiError } from '../../../api/error.ts';
import { useWrite } from '../../../api/writes.ts';
import { Badge } from '../../../parts/badge.tsx';
import { Button } from '../../../parts/button.tsx';
import { ImpactView } from '../../../parts/impact.tsx';
import { Card } from '../../../parts/page.tsx';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { useWords } from '../../../words/words.ts';
import css from './manifest.module.css';
import { APPLY, inputOf, type Plan, type Planned, type usePlan, YAML } from './plan.ts';

interface PlanSideProps {
  readonly appCode: string;
  readonly text: string;
  readonly prune: boolean;
  /** Whether there is anything to plan. */
  readonly changed: boolean;
  readonly planning: ReturnType<typeof usePlan>;
  readonly onGo: (line: number, column: number) => void;
  readonly onApplied: () => void;
}

/** Faults of a draft, or what it would do. */
export function PlanSide({ planning, changed, onGo, ...draft }: PlanSideProps) {
  const { manifest: words } = useWords().applications;
  const { faults, plan, busy, error } = planning;
  if (!changed) return <p className={css.soft}>{words.same}</p>;
  return (
    <div className={css.side}>
      {faults.length > 0 && (
        <Card title={words.faults(faults.length)}>
          <ul className={css.faults}>
            {faults.slice(0, SHOWN).map(({ path, message, line, column }) => (
              <li key={`${line} ${column} ${path} ${message}`}>
                <button type="button" onClick={() => onGo(line, column)}>
                  <span>{words.line(line)}</span>
                  <span>
                    <code>{path}</code> {message}
                  </span>
                </button>
              </li>
            ))}
          </ul>
          {faults.length > SHOWN && <p className={css.soft}>{words.more(faults.length - SHOWN)}</p>}
        </Card>
      )}
      {busy && faults.length === 0 && (
        <>
          <p className={css.soft}>{words.planning}</p>
          <Loading rows={2} />
        </>
      )}
      <Problem error={error} onRetry={planning.again} />
      {plan !== null && <PlanView plan={plan.result} impact={plan.impact} {...draft} again={planning.again} />}
    </div>
  );
}

/** Changes and faults that are listed. */
const SHOWN = 200;

type PlanViewProps = Omit<PlanSideProps, 'planning' | 'changed' | 'onGo'> & {
  readonly plan: Plan;
  readonly impact: Planned['impact'];
  readonly again: () => void;
};

function PlanView({ plan, impact, ...draft }: PlanViewProps) {
  const { manifest: words } = useWords().applications;
  const { summary, changes, assignmentsEnded } = plan;
  if (changes.length === 0) return <p>{words.nothing}</p>;
  return (
    <>
      <Card title={words.plan}>
        <p className={css.counts}>
          {summary.create > 0 && <Badge tone="good">{words.create(summary.create)}</Badge>}
          {summary.change > 0 && <Badge tone="accent">{words.change(summary.change)}</Badge>}
          {summary.remove > 0 && <Badge tone="bad">{words.remove(summary.remove)}</Badge>}
          <Badge>{words.keep(summary.keep)}</Badge>
          {assignmentsEnded > 0 && <Badge tone="bad">{words.ended(assignmentsEnded)}</Badge>}
        </p>
        <Apply impact={impact} {...draft} />
      </Card>
      <Card title={words.impact}>
        <ImpactView impact={impact} />
      </Card>
      <Card title={words.changes}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard */}
        <ul className={css.changes} tabIndex={0} aria-label={words.changes}>
          {changes.slice(0, SHOWN).map((change) => (
            <Sentence key={`${change.kind} ${change.key}`} change={change} />
          ))}
        </ul>
        {changes.length > SHOWN && <p className={css.soft}>{words.more(changes.length - SHOWN)}</p>}
      </Card>
    </>
  );
}

const TONES = { create: 'good', change: 'accent', remove: 'bad' } as const;
const LONG = 120;

function Sentence({ change }: { change: Plan['changes'][number] }) {
  const { applications, activity } = useWords();
  const words = applications.manifest;
  const { action, kind, key } = change;
  const differences = action === 'change' ? differencesOf({ before: change.before, after: change.after }) : [];
  const cut = (text: string | null) => (text ?? activity.nothing).slice(0, LONG);
  return (
    <li>
      <Badge tone={TONES[action]}>{words.does[action]}</Badge> {words.kinds[kind]} <code>{key}</code>
      {differences.map(({ name, before, after }) => (
        <small key={name}>
          {name}: {cut(before)} → {cut(after)}
        </small>
      ))}
    </li>
  );
}

function Apply({ appCode, text, prune, impact, onApplied, again }: Omit<PlanViewProps, 'plan'>) {
  const { manifest: words } = useWords().applications;
  const [progress, setProgress] = useState<{ readonly done: number; readonly total: number } | null>(null);
  const writing = useWrite({ done: words.applied });
  const stale = writing.error instanceof ApiError && writing.error.code === 'STALE';
  const apply = async (): Promise<void> => {
    const made = await writing.run(async () => {
      try {
        await call(APPLY, inputOf(appCode, text, prune), {
          ifRevision: impact.revision,
          headers: { ...YAML, accept: 'application/x-ndjson' },
          onLine: (line) => setProgress((line as { progress: { done: number; total: number } }).progress),
          timeoutMs: 600_000,
        });
      } catch (error) {
        if (error instanceof ApiError && error.code === 'STALE') again();
        throw error;
      } finally {
        setProgress(null);
      }
    });
    if (made) onApplied();
  };
  return (
    <>
      {stale ? <p role="status">{words.stale}</p> : <Problem error={writing.error} />}
      <div className={css.apply}>
        <Button kind="primary" busy={writing.busy} onClick={() => void apply()}>
          {words.save}
        </Button>
        {progress !== null && (
          <progress
            max={progress.total}
            value={progress.done}
            aria-label={words.applying(progress.done, progress.total)}
          />
        )}
      </div>
    </>
  );
}
