import { setTimeout as pause } from 'node:timers/promises';
import { PermissionService } from '../../../src/gen/usher/permission/v1/permission_pb.ts';
import { toUsherError, UnavailableError } from './errors.ts';
import { changesOf } from './messages.ts';
import { readWatch } from './settings.ts';
import type { Transport } from './transport.ts';
import type { Changes, WatchOptions } from './types.ts';

/** Between two attempts, in ms: doubled with each, of random length. */
const AGAIN_MS = 100;
const MOST_AGAIN_MS = 5000;

/** The changes, until `signal` is aborted. A stream that ends is opened anew after the last revision. Rejects where it is refused. */
export async function* watch(transport: Transport, options?: WatchOptions): AsyncGenerator<Changes, void> {
  const { apps, since, signal } = readWatch(options);
  let sinceRevision = since;
  for (let failures = 0; signal?.aborted !== true; ) {
    const attempt = new AbortController();
    const end = () => attempt.abort();
    signal?.addEventListener('abort', end, { once: true });
    try {
      const request = { apps: [...apps], sinceRevision };
      for await (const message of transport.stream(PermissionService.method.watch, request, attempt.signal)) {
        const told = changesOf(message);
        failures = 0;
        sinceRevision = told.revision;
        yield told;
      }
    } catch (error) {
      if (isAborted(signal)) return;
      const failure = toUsherError(error);
      if (!(failure instanceof UnavailableError)) throw failure;
    } finally {
      signal?.removeEventListener('abort', end);
      end();
    }
    if (isAborted(signal)) return;
    await pause(Math.min(MOST_AGAIN_MS, AGAIN_MS * 2 ** failures++) * (0.5 + Math.random() / 2));
  }
}

/** Read anew: it changes while the stream is open. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
