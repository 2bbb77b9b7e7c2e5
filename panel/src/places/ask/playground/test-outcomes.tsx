import { Badge } from '../../../parts/badge.tsx';
import { useWords } from '../../../words/words.ts';
import css from '../ask.module.css';
import look from './playground.module.css';
import type { Outcome } from './service.ts';

/** The manifest's own `tests:`, run as `usher test` runs them; a failure shows the expected and the actual answer. */
export function TestOutcomes({ outcomes }: { outcomes: readonly Outcome[] }) {
  const { ask } = useWords();
  const words = ask.playground;
  const failed = outcomes.filter(({ passed }) => !passed);
  const passed = outcomes.length - failed.length;
  return (
    <section className={css.rules} aria-label={words.tests}>
      <header className={look.head}>
        <h2>{words.tests}</h2>
        {passed > 0 && <Badge tone="good">{ask.assertions.passed(passed)}</Badge>}
        {failed.length > 0 && <Badge tone="bad">{ask.assertions.failed(failed.length)}</Badge>}
      </header>
      {outcomes.length === 0 && <p className={css.soft}>{words.noTests}</p>}
      <ul className={look.tests}>
        {outcomes.slice(0, MAX).map(({ name, passed: fits, message, explanation }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two cases may have one name, and none has a state of its own
          <li key={index}>
            <span>{name}</span>
            <Badge tone={fits ? 'good' : 'bad'}>{fits ? ask.assertions.pass : ask.assertions.fail}</Badge>
            {message !== null && <pre className={look.failure}>{[message, ...explanation].join('\n')}</pre>}
          </li>
        ))}
      </ul>
    </section>
  );
}

const MAX = 200;
