import { useMemo } from 'react';
import { useWords } from '../../../words/words.ts';
import css from '../ask.module.css';
import type { Question } from '../question.ts';
import { decisionsIn, type Reading } from './model.ts';
import look from './playground.module.css';

interface TableProps {
  readonly reading: Reading;
  readonly record: string;
  readonly question: Question;
  readonly change: (changes: Partial<Question>) => void;
}

/** Every decision about the people whom the manifest names; a press asks why. */
export function DecisionTable({ reading, record, question, change }: TableProps) {
  const { ask, common } = useWords();
  const words = ask.playground;
  const decisions = useMemo(() => decisionsIn(reading, record), [reading, record]);
  const title = record === '' ? words.decisions : words.decisionsFor(record);
  return (
    <section className={css.rules} aria-label={title}>
      <h2>{title}</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard */}
      <section className={look.scroller} tabIndex={0} aria-label={words.decisions}>
        <table className={look.table}>
          <thead>
            <tr>
              <th scope="col">{words.person}</th>
              {decisions.permissions.map((code) => (
                <th key={code} scope="col" className={look.permission}>
                  <span>{code}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {decisions.people.map((email) => (
              <tr key={email}>
                <th scope="row">{email}</th>
                {decisions.permissions.map((permission) => {
                  const level = decisions.levelOf(email, permission);
                  const name = common.levels[level ?? 'none'];
                  const chosen = email === question.email && permission === question.permission;
                  return (
                    <td key={permission}>
                      <button
                        type="button"
                        className={look.cell}
                        data-level={level ?? 'none'}
                        aria-pressed={chosen}
                        aria-label={words.choose(email, permission, name)}
                        onClick={() => change({ email, permission, level: '' })}
                      >
                        {level === null ? '·' : name}
                      </button>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {decisions.truncated && <p className={css.soft}>{words.truncated}</p>}
    </section>
  );
}
