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
  /** Requests of other engines for facts, by the version of the rules by which they decide. */
  readonly askers = { 1: 0, 2: 0 };
  /** How often the facts at hand did not hold together any more, since a grant among them begins or ends. */
  boundariesPassed = 0;
  /** Facts that were read but not stored, because a newer change names them. */
  factsLeftOut = 0;
  /** How often everything was dropped, and how many of these drops were because the database's history had changed. */
  drops = 0;
  restores = 0;
  readonly ahead = new AheadCounters();
  /** Where facts are read from a replica. */
  replica: ReplicaCounters | null = null;

  countBatch(needs: number): void {
    this.memberLoads++;
    this.memberNeeds += needs;
    const bucket = 32 - Math.clz32(needs - 1);
    this.batchSizes[bucket] = (this.batchSizes[bucket] ?? 0) + 1;
  }
}

/** The largest batch counted in each place of `batchSizes`. */
export const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;

/** What became of facts that were due when a question used them (ahead.ts). */
export class AheadCounters {
  readonly outcomes = {
    /** Read again, as policies and as needs of people and members. */
    read: 0,
    /** The statement failed: the facts keep their expiry. */
    failed: 0,
    /** A change or a question's own read came first. */
    overtaken: 0,
    /** Too many waited: left to a later question, or to their expiry. */
    'left-out': 0,
  };
}

/** Why a replica is left alone for a while: it did not answer in time, or what it said cannot be used. */
export const REPLICA_PAUSES = ['failed', 'other-history', 'too-old'] as const;
export type ReplicaPause = (typeof REPLICA_PAUSES)[number];

/** What became of loads that a replica might have answered. */
export class ReplicaCounters {
  readonly results = {
    /** It answered all of it. */
    replica: 0,
    /** The primary was asked for what had changed since. */
    both: 0,
    /** The primary was asked for everything: the replica showed a revision that the primary had not shown yet. */
    ahead: 0,
    'other-history': 0,
    'too-old': 0,
    /** It did not answer, or not in time. */
    failed: 0,
    /** It was not asked, because of one of the last three. */
    paused: 0,
    /** The log of the primary had not been read lately, or not since everything was forgotten. */
    unproven: 0,
  };
  /** Needs of people and members, by who answered them. */
  readonly needs = { replica: 0, primary: 0 };
  /** Those of the latter whose grants have a beginning or an end: a replica's clock has no say in it. */
  timed = 0;
  /** Why it is left alone now. */
  paused: ReplicaPause | null = null;
  /** By how many revisions its newest answer that was used was behind. */
  behind = 0;
}
