import { useState } from 'react';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { Card } from '../../parts/page.tsx';
import { keep, readKept } from '../../session/kept.ts';
import { useAction } from '../../shell/actions.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import css from './home.module.css';
import { applicationOf, stepsOf, visitedOf } from './tour.ts';

const KEPT = 'tour';

/** Five steps, each opened by a press; dismissed for good. */
export function Tour() {
  const { home: words } = useWords();
  const rights = useRights();
  const links = stepsOf(applicationOf(rights));
  const { title, dismiss, steps, open, done } = words.tour;
  const [visited, setVisited] = useState(() => visitedOf(readKept('local', KEPT), steps.length));
  const remember = (value: ReadonlySet<number> | 'dismissed'): void => {
    setVisited(value);
    keep('local', KEPT, value === 'dismissed' ? value : [...value].join(','));
  };
  const isDismissed = visited === 'dismissed';
  useAction(isDismissed ? words.showTour : null, () => remember(new Set()));
  if (isDismissed) return null;
  const next = steps.findIndex((_, at) => !visited.has(at));
  return (
    <Card
      title={title}
      actions={
        <Button kind="quiet" onClick={() => remember('dismissed')}>
          {next === -1 ? done : dismiss}
        </Button>
      }
    >
      <ol className={css.tour}>
        {steps.map((step, at) => (
          <li
            key={step.title}
            className={visited.has(at) ? css.visited : ''}
            aria-current={at === next ? 'step' : undefined}
          >
            <span aria-hidden="true" className={css.mark}>
              {visited.has(at) ? '✓' : at + 1}
            </span>
            <div>
              <h3>
                {step.title} {visited.has(at) && <span className="visually-hidden">({done})</span>}
              </h3>
              <p>{step.text}</p>
            </div>
            {/* Remembered before the link leaves the page. */}
            <div onClickCapture={() => remember(new Set([...visited, at]))}>
              <ButtonLink kind={at === next ? 'primary' : 'plain'} href={links[at] ?? '/'}>
                {open}
                <span className="visually-hidden">: {step.title}</span>
              </ButtonLink>
            </div>
          </li>
        ))}
      </ol>
    </Card>
  );
}
