import { setTimeout as pause } from 'node:timers/promises';
import { PermissionService, type WatchResponse } from '../../../src/gen/usher/permission/v1/permission_pb.ts';
import type { Connection } from './connection.ts';
import { toUsherError, UnavailableError } from './errors.ts';
import { changesOf } from './messages.ts';
import type { Changes, WatchOptions } from './types.ts';

/** Between two attempts, in ms: doubled with each, of random length. */
const AGAIN_MS = 100;
const MOST_AGAIN_MS = 5000;

/** The changes, until `signal` is aborted. A stream that ends is opened anew after the last revision. Rejects where it is refused. */
export async function* watch(
  connection: Connection,
  { apps = [], since = '', signal }: WatchOptions,
): AsyncGenerator<Changes, void> {
  let sinceRevision = since;
  for (let failures = 0; signal?.aborted !== true; ) {
    const stream = connection.stream(PermissionService.method.watch, { apps: [...apps], sinceRevision });
    const end = () => stream.cancel();
    signal?.addEventListener('abort', end, { once: true });
    try {
      for await (const message of stream) {
        const told = changesOf(message as WatchResponse);
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
      stream.cancel();
    }
    if (isAborted(signal)) return;
    await pause(Math.min(MOST_AGAIN_MS, AGAIN_MS * 2 ** failures++) * (0.5 + Math.random() / 2));
  }
}

/** Read anew: it changes while the stream is open. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
