/** The last requests of this tab, for the Inspect drawer. */

import { useSyncExternalStore } from 'react';
import type { RequestRecord } from './call.ts';

const KEPT = 200;

let records: readonly RequestRecord[] = [];
const listeners = new Set<() => void>();

export function noteRequest(record: RequestRecord): void {
  records = [record, ...records].slice(0, KEPT);
  for (const listener of listeners) listener();
}

/** The newest first. */
export function useRequestLog(): readonly RequestRecord[] {
  return useSyncExternalStore(subscribe, () => records);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
