import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import { flushTraces } from '../base/tracing.ts';
import { sleep } from '../base/wait.ts';

/** Longer than every wait of closing: calls in flight, requests, deliveries. Shorter than the 30 s of orchestrators. */
const CLOSING_MS = 25_000;

/**
 * The time between "not ready" and the end of new connections (`shutdown.noticeMs`): balancers look at readiness now and then, and
 * send callers here until they have.
 */
export async function passNotice(noticeMs: number, { clock, log }: { clock: Clock; log: Logger }): Promise<void> {
  if (noticeMs === 0) return;
  log.info({ noticeMs }, 'not ready any more; calls are still taken for this time');
  await sleep(clock, noticeMs);
}

/**
 * Closes the service within a bounded time; answers why not when that was too short. The timers and sockets of a closing service do
 * not keep its process alive, which would end halfway; the timer here does.
 */
export async function closeInTime(app: { close(): Promise<void> }, noticeMs: number): Promise<Error | null> {
  const boundMs = noticeMs + CLOSING_MS;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Error>((resolve) => {
    const words = `The service did not close within ${boundMs / 1000} seconds; what was open is cut.`;
    timer = setTimeout(() => resolve(new Error(words)), boundMs);
  });
  try {
    return await Promise.race([
      app
        .close()
        .then(flushTraces)
        .then(() => null),
      late,
    ]);
  } finally {
    clearTimeout(timer);
  }
}
