import { Component, type ReactNode } from 'react';
import { ApiError, asError, Conflict } from '../api/error.ts';
import type { Text } from '../words/places.ts';
import { useWords } from '../words/words.ts';
import { Button } from './button.tsx';
import css from './problem.module.css';

/** An error in words for the person who caused it. */
export function wordsOf(error: Error, { problem }: Text): string {
  if (!(error instanceof ApiError)) return error.message;
  if (error.code === 'TIMEOUT') return problem.timeout;
  if (error.status === 0) return problem.unreachable;
  const said = error.issues.map(({ path, message }) => `${path}: ${message}`);
  return said.length > 0 ? said.join('\n') : error.message;
}

/** What went wrong, beside what caused it. */
export function Problem({ error, onRetry }: { error: Error | null; onRetry?: () => void }) {
  const words = useWords();
  if (error === null) return null;
  if (error instanceof Conflict) return <Theirs conflict={error} />;
  const { status, requestId } = error instanceof ApiError ? error : { status: null, requestId: null };
  return (
    <div role="alert" className={css.problem}>
      <div>
        <p className={css.text}>{wordsOf(error, words)}</p>
        {status === 403 && <p className={css.soft}>{words.problem.forbidden}</p>}
        {requestId !== null && (
          <p className={css.soft}>
            {words.problem.requestId} <code>{requestId}</code>
          </p>
        )}
      </div>
      {onRetry && <Button onClick={onRetry}>{words.common.retry}</Button>}
    </div>
  );
}

/** What somebody else saved in the fields that were typed into. */
function Theirs({ conflict }: { conflict: Conflict }) {
  const { problem, common } = useWords();
  const textOf = (value: unknown): string => {
    if (typeof value === 'boolean') return value ? common.yes : common.no;
    if (value === null || value === '') return '–';
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
  return (
    <div role="alert" className={css.problem}>
      <div>
        <p className={css.text}>{problem.conflict}</p>
        <dl className={css.theirs}>
          {conflict.theirs.map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>
                <bdi>{textOf(value)}</bdi>
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </div>
  );
}

/** Placeholder bars while something loads. They appear after 150 ms; after 5 s they say that it takes long. */
export function Loading({ rows = 3 }: { rows?: number }) {
  const { common } = useWords();
  return (
    <div className={css.loading} role="status" data-loading>
      <span className="visually-hidden">{common.loading}</span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the bars are all the same
        <div key={row} className={css.bar} />
      ))}
      <p className={css.slow}>{common.slow}</p>
    </div>
  );
}

/** Keeps a failure of one view from the rest of the panel. */
export class Guarded extends Component<{ words: Text; children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(thrown: unknown): { error: Error } {
    return { error: asError(thrown) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const { problem, common } = this.props.words;
    return (
      <div role="alert" className={css.problem}>
        <div>
          <p className={css.text}>{problem.crashed}</p>
          <p className={css.soft}>{error.message}</p>
        </div>
        <Button onClick={() => location.reload()}>{common.reload}</Button>
      </div>
    );
  }
}
