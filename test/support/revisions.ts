/** The number in a revision as callers see it; the oracle's states are called by it. NaN where there is none. */
export function numberOf(revision: string | null): number {
  return Number.parseInt(revision ?? '', 10);
}
