import { useQuery } from '@tanstack/react-query';
import { asError } from '../../../api/error.ts';
import { CopyButton } from '../../../parts/copy.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../view-props.ts';
import type { Changes } from './draft.ts';
import css from './matrix.module.css';
import { proposalOf, yamlOf } from './proposal.ts';
import type { MatrixTable } from './table.ts';

interface ProposalProps {
  readonly application: ViewProps['application'];
  readonly table: MatrixTable;
  readonly changes: Changes;
  readonly onClose: () => void;
}

/** The draft as text to hand on. */
export function Proposal({ application, table, changes, onClose }: ProposalProps) {
  const { matrix: words } = useWords().applications;
  const proposal = proposalOf(application, table, changes);
  const text = useQuery({ queryKey: ['proposal', proposal], queryFn: () => yamlOf(proposal), gcTime: 0 });
  return (
    <Dialog title={words.proposal} wide onClose={onClose} actions={<CopyButton text={text.data ?? ''} />}>
      <p>{words.proposalHint}</p>
      {text.isPending && <Loading />}
      {text.isError && <Problem error={asError(text.error)} onRetry={() => void text.refetch()} />}
      {text.isSuccess && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard
        <pre className={css.yaml} tabIndex={0}>
          {text.data}
        </pre>
      )}
    </Dialog>
  );
}
