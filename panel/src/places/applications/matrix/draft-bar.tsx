import { Button } from '../../../parts/button.tsx';
import { tell } from '../../../shell/toasts.ts';
import { useWords } from '../../../words/words.ts';
import { MAX_CHANGES } from './draft.ts';
import css from './matrix.module.css';
import type { Drafting } from './use-draft.ts';

interface DraftBarProps {
  readonly drafting: Drafting;
  readonly mayEdit: boolean;
  readonly onReview: () => void;
  readonly onProposal: () => void;
}

/** What is drafted and not saved. It stays at the lower edge while the table is scrolled. */
export function DraftBar({ drafting, mayEdit, onReview, onProposal }: DraftBarProps) {
  const { common, applications } = useWords();
  const words = applications.matrix;
  const { changes, steps } = drafting.draft;
  const { size } = changes;
  if (size === 0 && steps.length === 0) return null;
  const before = drafting.draft;
  const discard = (): void => {
    drafting.discard();
    tell(words.discarded, {
      undo: () => {
        drafting.replace(before);
        return Promise.resolve();
      },
    });
  };
  return (
    <section className={css.bar} aria-label={words.changes(size)}>
      <span role="status" className={css.count}>
        {words.changes(size)}
      </span>
      {size > MAX_CHANGES && <span className={css.tooMany}>{words.tooMany(MAX_CHANGES)}</span>}
      {!mayEdit && <span className={css.soft}>{words.readerHint}</span>}
      <span className={css.end}>
        <Button kind="quiet" disabled={steps.length === 0 && common.missing.change} onClick={drafting.undo}>
          {words.stepBack}
        </Button>
        <Button kind="quiet" disabled={size === 0 && common.missing.change} onClick={discard}>
          {common.discard}
        </Button>
        <Button
          kind={mayEdit ? 'quiet' : 'primary'}
          disabled={size === 0 && common.missing.change}
          onClick={onProposal}
        >
          {words.copyManifest}
        </Button>
        {mayEdit && (
          <Button
            kind="primary"
            disabled={size === 0 ? common.missing.change : size > MAX_CHANGES && words.tooMany(MAX_CHANGES)}
            onClick={onReview}
          >
            {common.review}
          </Button>
        )}
      </span>
    </section>
  );
}
