/** What became of each call, and in which outage of the cluster it was under way. */

export type Call = 'warm check' | 'changing check' | 'cold check' | 'new connection' | 'write' | 'send';
export type Ending = 'answered' | 'refused' | 'outcome unknown' | 'failed';

/** From the fault until every instance has acknowledged a write that began after it. */
export interface Outage {
  readonly kind: string;
  readonly from: number;
  to: number;
  /** When each instance acknowledged such a write. */
  readonly back: Map<number, number>;
  readonly refused: Map<Call, number>;
  /** Warm checks that were refused, and changes of rights whose outcome nobody knew: by instance. */
  readonly warmRefused: number[];
  readonly unknownWrites: number[];
}

/** Longer than a call may take: what is under way when the writes are good again may still be refused. */
const AFTERMATH_MS = 2000;
const MOST_EXAMPLES = 40;

export class Tally {
  readonly outages: Outage[] = [];
  readonly counts = new Map<string, number>();
  /** Calls that were refused while nothing was wrong, and those that ended in another way than the documents say. */
  readonly examples: string[] = [];
  readonly #instances: number;
  readonly #slowest = new Map<Call, number>();

  constructor(instances: number) {
    this.#instances = instances;
  }

  begin(kind: string): Outage {
    const outage: Outage = {
      kind,
      from: performance.now(),
      to: Number.POSITIVE_INFINITY,
      back: new Map(),
      refused: new Map(),
      warmRefused: Array.from({ length: this.#instances }, () => 0),
      unknownWrites: Array.from({ length: this.#instances }, () => 0),
    };
    this.outages.push(outage);
    return outage;
  }

  of(call: Call, ending: Ending): number {
    return this.counts.get(`${call} ${ending}`) ?? 0;
  }

  /** Refused while nothing was wrong. */
  outside(call: Call): number {
    return this.counts.get(`${call} refused outside`) ?? 0;
  }

  outsideAll(): number {
    let all = 0;
    for (const [what, count] of this.counts) if (what.endsWith(' refused outside')) all += count;
    return all;
  }

  /** With what else belongs into the file. */
  toJson(rest: object): string {
    const outages = this.outages.map(({ kind, from, to, refused, warmRefused, unknownWrites }) => ({
      kind,
      warmRefused,
      unknownWrites,
      seconds: (to - from) / 1000,
      refused: Object.fromEntries(refused),
    }));
    return `${JSON.stringify({ ...rest, outages, examples: this.examples }, null, 2)}\n`;
  }

  slowest(call: Call): number {
    return this.#slowest.get(call) ?? 0;
  }

  note(call: Call, ending: Ending, at: { instance: number; begun: number; why?: string }): void {
    const { instance, begun, why = '' } = at;
    const now = performance.now();
    this.#slowest.set(call, Math.max(this.slowest(call), now - begun));
    this.#count(`${call} ${ending}`);
    if (ending === 'answered') {
      if (call === 'write') this.#isBack(instance, begun, now);
      return;
    }
    const outage = this.outages.findLast(({ from, to }) => now >= from && begun <= to + AFTERMATH_MS);
    if (outage !== undefined && ending !== 'failed') {
      outage.refused.set(call, (outage.refused.get(call) ?? 0) + 1);
      if (call === 'warm check') outage.warmRefused[instance] = (outage.warmRefused[instance] ?? 0) + 1;
      if (call === 'write' && ending === 'outcome unknown')
        outage.unknownWrites[instance] = (outage.unknownWrites[instance] ?? 0) + 1;
      return;
    }
    if (ending !== 'failed') this.#count(`${call} refused outside`);
    if (this.examples.length < MOST_EXAMPLES)
      this.examples.push(`${new Date().toISOString().slice(11, 23)} ${call} of ${instance} ${ending}: ${why}`);
  }

  /** What should not have happened, and is not about one call. */
  trouble(what: string): void {
    this.#count('trouble');
    if (this.examples.length < MOST_EXAMPLES) this.examples.push(`${new Date().toISOString().slice(11, 23)} ${what}`);
  }

  get troubles(): number {
    return this.counts.get('trouble') ?? 0;
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  #isBack(instance: number, begun: number, now: number): void {
    for (const outage of this.outages) {
      if (outage.to !== Number.POSITIVE_INFINITY || begun < outage.from || outage.back.has(instance)) continue;
      outage.back.set(instance, now);
      if (outage.back.size === this.#instances) outage.to = now;
    }
  }
}
