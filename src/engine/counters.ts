/** What the engine counts, as plain numbers that a scrape reads: nothing is allocated and nobody called on the hot path. */
export class EngineCounters {
  /** Answers straight from the cache of decisions. */
  decisionHits = 0;
  /** Decisions made from facts, warm or just loaded. */
  decisionMisses = 0;
  /** Statements for policies, and for members. */
  policyLoads = 0;
  memberLoads = 0;
  /** Needs in the statements for members; by `memberLoads` the mean size of a batch. */
  memberNeeds = 0;
  /** Statements for members by how many needs they held: 1, 2, 3-4, 5-8, … 129-256. */
  readonly batchSizes: Uint32Array = new Uint32Array(9);
  /** Statements for facts that failed or took too long. */
  loadFailures = 0;
  syncs = 0;
  syncFailures = 0;
  /** Facts that were read but not stored, because something newer names them. */
  factsLeftOut = 0;
  /** How often everything was forgotten, and how often of these because the database's history was another one. */
  drops = 0;
  restores = 0;

  countBatch(needs: number): void {
    this.memberLoads++;
    this.memberNeeds += needs;
    const bucket = 32 - Math.clz32(needs - 1);
    this.batchSizes[bucket] = (this.batchSizes[bucket] ?? 0) + 1;
  }
}

/** The largest batch that each place of `batchSizes` counts. */
export const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;
