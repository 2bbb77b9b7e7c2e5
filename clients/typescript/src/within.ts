/**
 * What `work` makes of a signal that ends after a time, or with the caller's own. Unlike AbortSignal.timeout it keeps the process alive
 * meanwhile: a program that waits gets the error, and does not end in silence.
 */
export async function within<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (ends: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException('The deadline is over.', 'TimeoutError')), ms);
  try {
    return await work(signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]));
  } finally {
    clearTimeout(timer);
  }
}
