/** The last requests of this tab, for the Inspect drawer. */

import { useSyncExternalStore } from 'react';
import { onPersonChanged } from '../session/person.ts';
import type { RequestRecord } from './call.ts';

const KEPT = 200;

let records: readonly RequestRecord[] = [];
const listeners = new Set<() => void>();

export function noteRequest(record: RequestRecord): void {
  set([record, ...records].slice(0, KEPT));
}

onPersonChanged(() => set([]));

/** The newest first. */
export function useRequestLog(): readonly RequestRecord[] {
  return useSyncExternalStore(subscribe, () => records);
}

/** The same, outside of a component. */
export function requestLog(): readonly RequestRecord[] {
  return records;
}

function set(value: readonly RequestRecord[]): void {
  records = value;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
