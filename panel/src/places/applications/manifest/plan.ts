/** The plan of a draft, as the service makes it: asked when typing pauses, and again when what is live has changed. */

import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Impact, Input, Out } from '../../../../../src/gen/api.ts';
import { rehearse } from '../../../api/call.ts';
import { ApiError } from '../../../api/error.ts';
import { usePaused } from '../../../parts/use-paused.ts';
import { faultsIn, type Reading, readHere } from './reader.ts';

export const APPLY = 'POST /api/applications/{appCode}/manifest';
export const YAML = { 'content-type': 'application/yaml' };

export type Plan = Out<typeof APPLY>;

export interface Planned {
  readonly result: Plan;
  readonly impact: Impact;
}

interface Planning {
  readonly faults: Reading['faults'];
  /** Null while it is being asked for, and for a text with faults. */
  readonly plan: Planned | null;
  readonly busy: boolean;
  readonly error: Error | null;
  readonly again: () => void;
}

/** Typing pauses this long before the service is asked. */
const PAUSE_MS = 400;
/** A longer text is read here when typing pauses, too: it takes longer than a frame. */
const QUICK = 20_000;

/** Sends the text as it is typed, so that faults name the lines on the screen. */
export function inputOf(appCode: string, text: string, prune: boolean): Input<typeof APPLY> {
  return { path: { appCode }, query: { prune }, body: text } as unknown as Input<typeof APPLY>;
}

/** `live` is the version of the stored manifest; a plan holds for that version only. */
export function usePlan(appCode: string, text: string | null, prune: boolean, live: string): Planning {
  const [reading, setReading] = useState<(Reading & { text: string }) | null>(null);
  useEffect(() => {
    if (text === null) return undefined;
    let current = true;
    const read = () => void readHere(text).then((found) => current && setReading({ ...found, text }));
    const reading = setTimeout(read, text.length > QUICK ? PAUSE_MS : 0);
    return () => {
      current = false;
      clearTimeout(reading);
    };
  }, [text]);
  const paused = usePaused(text, PAUSE_MS);
  const own = reading !== null && reading.text === text ? reading : null;
  const ready = text !== null && own?.faults.length === 0 && paused === text;
  const query = useQuery({
    queryKey: [APPLY, inputOf(appCode, text ?? '', prune), live],
    queryFn: ({ signal }) => rehearse(APPLY, inputOf(appCode, text ?? '', prune), { signal, headers: YAML }),
    enabled: ready,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const refused = ready && query.error instanceof ApiError ? faultsIn(query.error.issues) : [];
  return {
    faults: own?.faults.length === 0 ? refused : (reading?.faults ?? []),
    plan: ready ? (query.data ?? null) : null,
    busy: text !== null && (own === null || (own.faults.length === 0 && (paused !== text || query.isFetching))),
    error: ready && refused.length === 0 ? query.error : null,
    again: () => void query.refetch(),
  };
}
