/** The servers of the ladder: what a gRPC call costs in grpc-js alone, and what of it the service saves. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from '../test/grpc/certificates.ts';
import { type Measured, measure, type Side, summarise } from './compare.ts';
import type { OpenOptions } from './generator.ts';
import { Generator } from './generator-client.ts';
import type { Lab } from './lab.ts';
import { CORES, pidOf, START_FLAGS, startBare, stop } from './processes.ts';
import { KEY, Service } from './service.ts';

export const RUNGS = ['bare, default heap', 'bare', 'without the front', 'with the front'] as const;
export type RungName = (typeof RUNGS)[number];

/** What a run gave of each server. */
export type Steps = ReadonlyMap<RungName, Measured>;

/** One way of calling them, and what each run gave of it. */
export interface Setting {
  readonly title: string;
  readonly runs: readonly Steps[];
}

/** A started server. */
interface Rung {
  readonly name: RungName;
  readonly pid: number;
  readonly port: number;
  readonly answers: OpenOptions['answers'];
  end(): Promise<void>;
}

/** Calls as one setting of the ladder makes them. */
export interface Load {
  readonly connections: number;
  readonly inFlight: number;
  readonly timeouts: boolean;
  readonly workload: 'hot' | 'effective-20' | 'health';
}

/** All servers at once, on one core, and a generator; one of them is asked at a time. */
export class Rungs {
  readonly generator = new Generator();
  readonly #lab: Lab;
  readonly #rungs: Rung[] = [];
  readonly #tls: Certificates | null;
  #targets = 0;

  private constructor(lab: Lab, tls: Certificates | null) {
    this.#lab = lab;
    this.#tls = tls;
  }

  /** Starts the servers named; by TLS, all of them speak it. */
  static async start(lab: Lab, names: readonly RungName[], withTls = false): Promise<Rungs> {
    const rungs = new Rungs(lab, withTls ? new Certificates() : null);
    try {
      for (const name of names) rungs.#rungs.push(await rungs.#start(name));
    } catch (error) {
      await rungs.end();
      throw error;
    }
    return rungs;
  }

  async #start(name: RungName): Promise<Rung> {
    const tls = this.#tls;
    if (name === 'bare' || name === 'bare, default heap') {
      const flags = name === 'bare' ? START_FLAGS : [];
      const { port, child } = await startBare('grpc', CORES.server, flags, tls === null ? [] : [tls.cert, tls.key]);
      return { name, pid: pidOf(child), port, answers: 'constant', end: () => stop(child) };
    }
    const service = await Service.start({
      databaseUrl: await this.#lab.data(),
      core: CORES.server,
      env: {
        GRPC_FRONT: String(name === 'with the front'),
        ...(tls === null ? {} : { GRPC_TLS_CERT: tls.cert, GRPC_TLS_KEY: tls.key }),
      },
      ...(tls === null ? {} : { ca: tls.ca }),
    });
    return { name, pid: service.pid, port: service.grpcPort, answers: 'known', end: () => service.stop() };
  }

  get servers(): ReadonlyMap<RungName, { pid: number; port: number }> {
    return new Map(this.#rungs.map(({ name, pid, port }) => [name, { pid, port }]));
  }

  /** Slices of each server in turns; medians by name. */
  async measure(load: Load): Promise<Steps> {
    const { slices, sliceMs, warmMs } = this.#lab.settings;
    const { inFlight, ...options } = load;
    const sides: Side[] = [];
    for (const { name, pid, port, answers } of this.#rungs) {
      const target = `${name} ${++this.#targets}`;
      const ca = this.#tls === null ? {} : { ca: this.#tls.ca };
      await this.generator.open({ ...options, ...ca, target, protocol: 'grpc', port, answers, key: KEY });
      sides.push({ name: target, pid, slices: [], end: () => this.generator.close(target) });
      await this.generator.slice(target, { inFlight, durationMs: warmMs / 2 });
    }
    for (let i = 0; i < slices; i++) {
      for (const side of i % 2 === 0 ? sides : [...sides].reverse()) {
        await measure(this.generator, side, inFlight, sliceMs);
      }
    }
    for (const side of sides) await side.end();
    return new Map(this.#rungs.map(({ name }, at) => [name, summarise(sides[at] as Side)]));
  }

  async end(): Promise<void> {
    for (const rung of this.#rungs) await rung.end();
    await this.generator.end();
    this.#tls?.remove();
  }
}

/** A certificate for 127.0.0.1, as files. */
class Certificates {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'usher-bench-tls-'));

  constructor() {
    const authority = createAuthority('bench');
    const issued = authority.issue('127.0.0.1');
    this.ca = authority.cert;
    this.cert = this.#write('cert.pem', issued.cert);
    this.key = this.#write('key.pem', issued.key);
  }

  #write(name: string, text: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, text);
    return path;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
