/** The last requests of this tab, for the Inspect drawer. */

import { onPersonChanged } from '../session/person.ts';
import { Store, useStore } from '../shell/store.ts';
import type { RequestRecord } from './call.ts';

const KEPT = 200;

const records = new Store<readonly RequestRecord[]>([]);

export function noteRequest(record: RequestRecord): void {
  records.set([record, ...records.value].slice(0, KEPT));
}

onPersonChanged(() => records.set([]));

/** The newest first. */
export function useRequestLog(): readonly RequestRecord[] {
  return useStore(records);
}

/** The same, outside of a component. */
export function requestLog(): readonly RequestRecord[] {
  return records.value;
}
