/** Latencies in buckets of at most 1.6 % width (64 to a power of two): no allocation while recording. */
const SUB_BITS = 6;
const SUB = 1 << SUB_BITS;

export class Histogram {
  readonly #counts = new Uint32Array(SUB * 40);
  #total = 0;
  #max = 0;

  /** Records a latency in milliseconds. */
  record(ms: number): void {
    const ns = Math.max(1, Math.round(ms * 1e6));
    const index = bucketOf(ns);
    this.#counts[index] = (this.#counts[index] as number) + 1;
    this.#total++;
    if (ns > this.#max) this.#max = ns;
  }

  get count(): number {
    return this.#total;
  }

  /** The largest latency, in milliseconds. */
  get max(): number {
    return this.#max / 1e6;
  }

  /** The latency in milliseconds that a share `p` (0 to 1) of the calls stayed below: the middle of its bucket. */
  percentile(p: number): number {
    const wanted = Math.max(1, Math.ceil(this.#total * p));
    let seen = 0;
    for (let i = 0; i < this.#counts.length; i++) {
      seen += this.#counts[i] as number;
      if (seen >= wanted) return Math.min(middleOf(i), this.#max) / 1e6;
    }
    return 0;
  }
}

function bucketOf(ns: number): number {
  if (ns < SUB) return ns;
  const exponent = Math.floor(Math.log2(ns)) - SUB_BITS;
  return SUB * (exponent + 1) + Math.floor(ns / 2 ** exponent) - SUB;
}

function middleOf(index: number): number {
  if (index < SUB) return index;
  const exponent = Math.floor(index / SUB) - 1;
  return ((index % SUB) + SUB + 0.5) * 2 ** exponent;
}
