/** Spans of waits for a connection (docs/guides/tracing.md). Most calls find one at once: only what took a while is told. */

import type { Clock } from '../../base/clock.ts';
import { pastSpan, recordingSpan } from '../../base/tracing.ts';

/** Shorter waits are those for the event loop. */
const TOLD_MS = 1;

/** Does `wait`; of recorded work it is a span, where it is long or fails. `pool` is the name of the connections waited for. */
export function waitingForConnection<T>(
  pool: string,
  clock: Pick<Clock, 'monotonic'>,
  wait: () => Promise<T>,
): Promise<T> {
  return recordingSpan() === null ? wait() : told(pool, clock, wait);
}

async function told<T>(pool: string, clock: Pick<Clock, 'monotonic'>, wait: () => Promise<T>): Promise<T> {
  const from = clock.monotonic();
  const tell = (error?: unknown): void => {
    const to = clock.monotonic();
    if (error === undefined && to - from <= TOLD_MS) return;
    // As the conventions of OpenTelemetry name it in their metrics of pools; they have none for spans of a wait.
    const attributes = { 'db.system.name': 'postgresql', 'db.client.connection.pool.name': pool };
    pastSpan('wait for a connection', { attributes, from, to }, error);
  };
  let connection: T;
  try {
    connection = await wait();
  } catch (error) {
    tell(error);
    throw error;
  }
  tell();
  return connection;
}
