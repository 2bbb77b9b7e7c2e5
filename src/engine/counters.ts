/** The engine's counters, as plain numbers that a scrape reads: the hot path neither allocates nor calls anything for them. */
export class EngineCounters {
  /** Answers from the cache of decisions. */
  decisionHits = 0;
  /** Decisions made from facts, cached or just loaded. */
  decisionMisses = 0;
  /** Statements that load policies, and members. */
  policyLoads = 0;
  memberLoads = 0;
  /** Needs in the statements for members; divided by `memberLoads`, the mean size of a batch. */
  memberNeeds = 0;
  /** Statements for members by the number of needs in each: 1, 2, 3-4, 5-8, … 129-256. */
  readonly batchSizes: Uint32Array = new Uint32Array(9);
  /** Statements for facts that failed or timed out. */
  loadFailures = 0;
  syncs = 0;
  syncFailures = 0;
  /** Facts that were read but not stored, because a newer change names them. */
  factsLeftOut = 0;
  /** How often everything was dropped, and how many of these drops were because the database's history had changed. */
  drops = 0;
  restores = 0;

  countBatch(needs: number): void {
    this.memberLoads++;
    this.memberNeeds += needs;
    const bucket = 32 - Math.clz32(needs - 1);
    this.batchSizes[bucket] = (this.batchSizes[bucket] ?? 0) + 1;
  }
}

/** The largest batch counted in each place of `batchSizes`. */
export const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;
