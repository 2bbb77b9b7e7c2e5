/** What a service holds: of which soaks judge whether it grows. */
import type { Inspector } from './inspector.ts';
import { memory } from './processes.ts';

const MB = 2 ** 20;

/**
 * How often a soak collects garbage to measure what is left. Between collections of its own accord, a quarter of an hour apart, the
 * heap grows by half, and the least of a quarter is as much garbage as the last one happened to leave.
 */
export const HELD_TIMES = 24;

/** Of one process, right after its garbage was collected. */
export interface HeldMB {
  readonly heap: number;
  /** The heap of the thread that delivers. */
  readonly thread: number;
  /** Beside the heaps of both. */
  readonly external: number;
  readonly rss: number;
}

/** Collects the garbage of a process. */
export async function heldBy(inspector: Inspector, pid: number): Promise<HeldMB> {
  const { heap, threads, external } = await inspector.held();
  return { heap: heap / MB, thread: threads / MB, external: external / MB, rss: memory(pid).rss };
}

export const inWords = ({ heap, thread, external, rss }: HeldMB): string =>
  `heap ${heap.toFixed(1)} MB, delivery ${thread.toFixed(1)} MB, external ${external.toFixed(1)} MB, resident ${rss.toFixed(0)} MB`;
