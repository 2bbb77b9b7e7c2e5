import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import type { Impact, Input, Operation, Out } from '../../../src/gen/api.ts';
import { type Answer, type CallOptions, call, rehearse } from '../api/call.ts';
import { asError, isStale } from '../api/error.ts';
import { useWrite } from '../api/writes.ts';
import { useFormats, useWords } from '../words/words.ts';
import { Badge, Level } from './badge.tsx';
import { Dialog } from './dialog.tsx';
import css from './impact.module.css';
import { Loading, Problem } from './problem.tsx';
import { ReasonField } from './reason-field.tsx';

interface ImpactReviewProps<K extends Operation> {
  readonly title: string;
  readonly operation: K;
  readonly input: Input<K>;
  /** The ETag that the draft was made on. */
  readonly ifMatch?: string | undefined;
  /** What will be written, in words. */
  readonly summary?: ReactNode;
  readonly confirm?: string;
  readonly danger?: boolean;
  /** Said when it was made. */
  readonly done: string;
  /** The inverse. `bound` goes with each of its writes: nothing is undone when somebody has changed it meanwhile. */
  readonly undo?: (bound: CallOptions, answer: Answer<Out<K>>) => Promise<unknown>;
  readonly refreshes?: readonly string[];
  readonly onClose: () => void;
  readonly onDone?: (answer: Answer<Out<K>>) => void;
  /** With `ifMatch`: what the draft was made on has changed. The page shows what is there now. */
  readonly onStale?: () => void;
}

/**
 * Shows who gains and who loses by a write, and then makes exactly that: the write carries the revision of its dry run. When
 * something concerned has changed meanwhile, it says so and asks again.
 */
export function ImpactReview<K extends Operation>(props: ImpactReviewProps<K>) {
  const { title, operation, input, ifMatch, summary, danger = false, onClose, onDone, onStale } = props;
  const { impact, common } = useWords();
  const id = useId();
  const [stale, setStale] = useState(false);
  const [reason, setReason] = useState('');
  const rehearsal = useQuery({
    queryKey: ['rehearse', id, operation, input, ifMatch],
    queryFn: ({ signal }) => rehearse(operation, input, { signal, ifMatch }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  const answered = useRef<Answer<Out<K>> | null>(null);
  const writing = useWrite(() => {
    const { done, undo, refreshes } = props;
    const answer = answered.current;
    return {
      done,
      ...(refreshes === undefined ? {} : { refreshes }),
      ...(undo === undefined || answer === null ? {} : { undo: (bound: CallOptions) => undo(bound, answer) }),
    };
  });
  const outdated = ifMatch !== undefined && (isStale(rehearsal.error) || isStale(writing.error));
  // biome-ignore lint/correctness/useExhaustiveDependencies: told once, when it is seen
  useEffect(() => {
    if (outdated) onStale?.();
  }, [outdated]);
  const apply = async (): Promise<void> => {
    setStale(false);
    const made = await writing.run(async () => {
      try {
        const ifRevision = rehearsal.data?.impact.revision;
        answered.current = await call(operation, input, { ifMatch, ifRevision, reason, timeoutMs: 120_000 });
        return answered.current;
      } catch (error) {
        // With an ETag the draft itself may be of an older state: that is for the page to say.
        if (isStale(error) && ifMatch === undefined) {
          setStale(true);
          await rehearsal.refetch();
        }
        throw error;
      }
    });
    if (!made) return;
    onClose();
    if (answered.current !== null) onDone?.(answered.current);
  };
  return (
    <Dialog
      title={title}
      wide
      onClose={onClose}
      act={{
        label: props.confirm ?? impact.confirm,
        danger,
        busy: writing.busy,
        disabled: !rehearsal.isSuccess && common.missing.wait,
        onAct: () => void apply(),
      }}
    >
      {summary}
      {stale ? <p role="status">{impact.stale}</p> : <Problem error={writing.error} />}
      <h3>{impact.title}</h3>
      {rehearsal.isPending && <Loading />}
      {rehearsal.isError && <Problem error={asError(rehearsal.error)} onRetry={() => void rehearsal.refetch()} />}
      {rehearsal.isSuccess && <ImpactView impact={rehearsal.data.impact} />}
      <ReasonField value={reason} onText={setReason} />
    </Dialog>
  );
}

/** Counts, and the changes that are listed. */
export function ImpactView({ impact }: { impact: Impact }) {
  const { impact: words, common } = useWords();
  const formats = useFormats();
  const { gained, lost, people, changes, truncated, everywhere } = impact;
  return (
    <div className={css.impact}>
      <p className={css.counts}>
        {gained + lost === 0 && words.nobody}
        {gained > 0 && <Badge tone="good">{words.gained(gained)}</Badge>}{' '}
        {lost > 0 && <Badge tone="bad">{words.lost(lost)}</Badge>} {gained + lost > 0 && words.people(people)}
      </p>
      {impact.nextBoundary != null && <p>{common.window.next(formats.moment(impact.nextBoundary))}</p>}
      {everywhere === 'gains' && <p>{words.gainsEverywhere}</p>}
      {everywhere === 'loses' && <p>{words.losesEverywhere}</p>}
      {changes.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard
        <section className={css.changes} tabIndex={0} aria-label={words.title}>
          <ul>
            {changes.map(({ email, app, permission, resourceType, resourceId, from, to }) => (
              <li key={`${email}\n${app}\n${permission}\n${resourceType}\n${resourceId}`}>
                <span>{email}</span>
                <code>
                  {permission}
                  {resourceType === null ? '' : ` · ${resourceType}:${resourceId}`}
                </code>
                <span>
                  <Level level={from} /> → <Level level={to} />
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {truncated && <p className={css.soft}>{words.truncated(changes.length)}</p>}
    </div>
  );
}
