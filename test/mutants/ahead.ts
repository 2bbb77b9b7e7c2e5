import { type Mutant, mutant } from './mutant.ts';

/** Mistakes in reading facts ahead of their expiry. The model has those that would be wrong answers. */
export const AHEAD: readonly Mutant[] = [
  mutant(
    'facts in use are not read ahead',
    'engine/grounds.ts',
    'this.#ahead.note(subject, facts, now);',
    '',
    'engine/ahead',
  ),
  mutant(
    'overrides in use are not read ahead',
    'engine/ahead.ts',
    'if (overrides !== null && isNoted(overrides)) {',
    'if (overrides !== null && overrides.due < 0) {',
    'engine/ahead',
  ),
  mutant(
    'reading ahead takes the last connection',
    'engine/loader.ts',
    'return waiting === 0 && this.#inFlight + 2 <= this.#options.source.parallelism;',
    'return waiting === 0 && this.#inFlight + 1 <= this.#options.source.parallelism;',
    'engine/ahead',
  ),
  mutant(
    'what was read or changed meanwhile is read ahead all the same',
    'engine/ahead.ts',
    'if (fact.lease.live && fact.readAt === readAt) taken.push(need);',
    'if (fact.readAt <= readAt) taken.push(need);',
    'engine/ahead',
  ),
  mutant(
    'any number of needs waits to be read ahead',
    'engine/ahead.ts',
    'if (waiting.length >= MAX_WAITING) {',
    'if (false as boolean) {',
    'engine/ahead',
  ),
  mutant(
    'a failed read ahead is repeated without a pause',
    'engine/ahead.ts',
    'clock.monotonic() + againMs * 2 ** Math.min(DOUBLINGS, this.#failures++)',
    'clock.monotonic() + againMs * 2 ** Math.min(0, this.#failures++)',
    'engine/ahead',
  ),
];
