import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import type { CheckResult } from '../../src/gen/api.ts';
import { SHOP } from '../faults/shop.ts';
import type { Operation } from '../oracle/rows.ts';
import { carryOut } from '../support/carry-out.ts';
import { HaProxy } from '../support/haproxy.ts';
import { createDatabase } from '../support/postgres.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/**
 * Failovers behind HAProxy, with the configuration of docs/guides/postgresql.md: a primary with a synchronous standby, each beside a
 * responder that says what Patroni's would, and two services: one writes and the other checks while the primary ends and the standby is
 * promoted. (One whose change of rights has an unknown outcome forgets what it knows, and answers again with the new primary.)
 * Not part of `npm test`: HAProxy must be installed, or named in HAPROXY. USHER_FAILOVERS is how many of each kind there are.
 */
const ADA = 'ada@example.com';
/** How the primary ends: stopped in order, at once, or not at all: it hangs, with every connection open. */
const KINDS = ['stopped', 'ended at once', 'frozen'] as const;
const RUNS = Array.from({ length: Number(process.env.USHER_FAILOVERS ?? 1) }, (_, n) => n + 1);

/** A primary and its synchronous standby behind HAProxy, and what uses them. */
class Pair {
  readonly folder = mkdtempSync(join(tmpdir(), 'usher-haproxy-'));
  /** In the order in which they began. */
  readonly #ends: (() => unknown)[] = [];
  primary!: PostgresServer;
  standby!: PostgresServer;
  writing!: RunningUsher;
  checking!: RunningUsher;
  /** The database by way of HAProxy. */
  through!: string;
  /** Straight to the standby. */
  there!: pg.Client;

  /** `close` ends what a start that failed has begun, too. */
  async start(): Promise<void> {
    this.primary = await startPostgres({ maxConnections: 100 });
    this.#ends.push(() => this.primary.close());
    const { url } = await createDatabase({ server: this.primary, empty: true });
    this.standby = await startPostgres({ maxConnections: 100, standbyOf: this.primary });
    this.#ends.push(() => this.standby.close());
    await this.#demandStandby();
    const proxy = await HaProxy.start([this.primary.url, this.standby.url]);
    this.#ends.push(() => proxy.close());
    this.through = proxy.url(url);
    this.writing = await this.#startUsher('writing');
    this.checking = await this.#startUsher('checking');
    this.there = new pg.Client({ connectionString: url.replace(`:${this.primary.port}/`, `:${this.standby.port}/`) });
    this.#ends.push(() => this.there.end());
    await this.there.connect();
    for (const operation of SHOP) await this.write(operation);
  }

  async #startUsher(name: string): Promise<RunningUsher> {
    const usher = await startUsher({ url: this.through, dataDir: join(this.folder, name) });
    this.#ends.push(() => usher.close());
    return usher;
  }

  async #demandStandby(): Promise<void> {
    const admin = new pg.Client({ connectionString: this.primary.url });
    await admin.connect();
    await admin.query(`alter system set synchronous_standby_names = '*'`);
    // Stronger than the setting that the servers of tests are started with.
    await admin.query('alter role postgres set synchronous_commit = on');
    await admin.query('select pg_reload_conf()');
    await admin.end();
  }

  async write(operation: Operation): Promise<string> {
    return (await this.writing.app.database.change((tx) => carryOut(tx, operation))).revision;
  }

  async end(kind: (typeof KINDS)[number]): Promise<void> {
    if (kind === 'ended at once') return await this.primary.close();
    if (kind === 'stopped') return void process.kill(this.primary.pid, 'SIGINT');
    // The first process before its children: it makes no further ones, and one that has ended stays where it can be signaled.
    process.kill(this.primary.pid, 'SIGSTOP');
    const { stdout } = await promisify(execFile)('pgrep', ['-P', String(this.primary.pid)]);
    const all = [this.primary.pid, ...stdout.trim().split('\n').map(Number)];
    for (const pid of all) process.kill(pid, 'SIGSTOP');
    this.#ends.push(() => {
      for (const pid of all) proceed(pid);
    });
  }

  /** When somebody new reaches a primary by way of HAProxy; null where nobody does until `signal`. */
  async reached(signal: AbortSignal): Promise<number | null> {
    while (!signal.aborted) {
      const client = new pg.Client({
        connectionString: this.through,
        connectionTimeoutMillis: 300,
        query_timeout: 300,
      });
      client.on('error', () => undefined);
      try {
        await client.connect();
        const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
        if (rows[0]?.standby === false) return performance.now();
      } catch {
        // Nobody is there yet: the next attempt asks again.
      } finally {
        await client.end().catch(() => undefined);
      }
      await delay(20);
    }
    return null;
  }

  async close(): Promise<void> {
    for (const end of this.#ends.toReversed()) await end();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Once the first process goes on, it may have ended others before their turn. */
function proceed(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch (error) {
    if ((error as { code?: string }).code !== 'ESRCH') throw error;
  }
}

async function isAllowed({ app, rest }: RunningUsher, email: string, minRevision?: string): Promise<boolean> {
  const response = await fetch(`${rest}/api/check`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-internal-api-key': app.localKey ?? '',
      ...(minRevision === undefined ? {} : { 'usher-min-revision': minRevision }),
    },
    body: JSON.stringify({ email, app: 'shop', permission: 'read' }),
  });
  if (response.status !== 200) throw new CheckRefused(`${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: CheckResult }).data.allowed;
}

class CheckRefused extends Error {}

/** Checks and writes that go on while the primary ends. */
class Load {
  readonly acknowledged: string[] = [];
  /** Codes of writes that were refused. */
  readonly refused = new Set<string>();
  readonly unanswered = { warm: [] as string[], cold: [] as string[] };
  readonly slowestMs = { warm: 0, cold: 0 };
  readonly checks = { warm: 0, cold: 0 };
  /** When a write was acknowledged that began after the promotion and after the last one that was refused; 0 until then. */
  goodAgain = 0;
  /** When the primary ended, the standby was promoted, or the last write began that was refused: one may hear so long after another is acknowledged. */
  interrupted = Number.POSITIVE_INFINITY;
  readonly #end = new AbortController();
  readonly #pair: Pair;
  readonly #work: Promise<unknown>;

  constructor(pair: Pair) {
    this.#pair = pair;
    this.#work = Promise.all([
      this.#write('one@example.com'),
      this.#write('two@example.com'),
      this.#ask('warm', () => ADA, true),
      this.#ask('cold', (n) => `stranger${n}@example.com`, false),
    ]);
    this.#work.catch(() => undefined);
  }

  /** The standby takes writes from now on: one that was acknowledged while the primary was just ending says nothing of it. */
  promoted(): void {
    this.interrupted = performance.now();
    this.goodAgain = 0;
  }

  /** Rejects with what no load should meet, an answer that is wrong among it. */
  async stop(): Promise<void> {
    this.#end.abort();
    await this.#work;
  }

  async #write(email: string): Promise<void> {
    for (let n = 0; !this.#end.signal.aborted; n++) {
      const begun = performance.now();
      try {
        const roles = n % 2 === 0 ? ['reader'] : [];
        this.acknowledged.push(await this.#pair.write({ kind: 'roles-of-user', app: 'shop', email, roles }));
        if (begun > this.interrupted && this.goodAgain === 0) this.goodAgain = performance.now();
      } catch (error) {
        this.refused.add((error as { code?: string }).code ?? String(error));
        if (begun > this.interrupted) {
          this.interrupted = begun;
          this.goodAgain = 0;
        }
        // A refusal may come without anything that waits, and timers have to have their turn.
        await setImmediate();
      }
    }
  }

  async #ask(kind: 'warm' | 'cold', who: (n: number) => string, expected: boolean): Promise<void> {
    for (; !this.#end.signal.aborted; this.checks[kind]++) {
      const begun = performance.now();
      try {
        expect(await isAllowed(this.#pair.checking, who(this.checks[kind]))).toBe(expected);
      } catch (error) {
        if (!(error instanceof CheckRefused)) throw error;
        this.unanswered[kind].push(error.message);
      }
      this.slowestMs[kind] = Math.max(this.slowestMs[kind], performance.now() - begun);
      if (kind === 'cold') await delay(20);
    }
  }
}

/** Returns how many writes were acknowledged before, when the primary ended, and after how long the standby was promoted and reached. */
async function failover(
  pair: Pair,
  kind: (typeof KINDS)[number],
  load: Load,
): Promise<{ before: number; ended: number; promotedMs: number; reachedMs: number | null }> {
  const seen = new AbortController();
  await delay(1000);
  const before = load.acknowledged.length;
  const ended = performance.now();
  load.interrupted = ended;
  try {
    await pair.end(kind);
    await delay(400);
    const reached = pair.reached(seen.signal).then((at) => at && at - ended);
    await pair.there.query('select pg_promote()');
    const promotedMs = performance.now() - ended;
    load.promoted();
    while (load.goodAgain === 0 && performance.now() < ended + 30_000) await delay(20);
    await delay(1000);
    seen.abort();
    return { before, ended, promotedMs, reachedMs: await reached };
  } finally {
    seen.abort();
  }
}

describe.each(KINDS.flatMap((kind) => RUNS.map((n) => [kind, n] as const)))('a primary that is %s (%i)', (kind) => {
  let pair: Pair;

  beforeAll(async () => {
    pair = new Pair();
    await pair.start();
  }, 120_000);

  afterAll(async () => {
    await pair.close();
  }, 60_000);

  test('a failover answers no check wrongly, loses no acknowledged write, and ends by itself', async () => {
    const granted = await pair.write({ kind: 'roles-of-user', app: 'shop', email: ADA, roles: ['reader'] });
    expect(await isAllowed(pair.checking, ADA, granted)).toBe(true);
    const load = new Load(pair);
    const { before, ended, promotedMs, reachedMs } = await failover(pair, kind, load).finally(() => load.stop());
    const { acknowledged, checks, unanswered } = load;
    if (process.env.USHER_TABLE !== undefined) {
      const { refused, slowestMs, goodAgain } = load;
      const line = { kind, acknowledged: acknowledged.length, refused: [...refused], checks, slowestMs, unanswered };
      console.info(JSON.stringify({ ...line, promotedMs, reachedMs, writesAgainAfterMs: goodAgain - ended }));
    }
    expect(before).toBeGreaterThan(0);
    expect(acknowledged.length).toBeGreaterThan(before);
    expect(checks.warm).toBeGreaterThan(0);
    // What this instance wrote when the connections were cut touched no policy, so its cache stayed.
    expect(unanswered.warm).toEqual([]);
    // What is not cached is read once there is a new primary.
    expect(unanswered.cold).toEqual([]);
    const { rows } = await pair.there.query<{ name: string }>(
      `select revision || '.' || nonce as name from policy_change`,
    );
    const kept = new Set(rows.map(({ name }) => name));
    expect(acknowledged.filter((revision) => !kept.has(revision))).toEqual([]);
    for (const code of load.refused) expect(['UNAVAILABLE', 'OUTCOME_UNKNOWN']).toContain(code);
    expect(load.goodAgain).toBeGreaterThan(ended);
    expect(load.goodAgain - ended).toBeLessThan(15_000);
    for (const usher of [pair.writing, pair.checking])
      expect(await isAllowed(usher, ADA, acknowledged.at(-1))).toBe(true);
  }, 120_000);
});
