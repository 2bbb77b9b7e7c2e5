/**
 * Database time as the server itself counts it: the durations that it logs of every parse, bind (which plans) and execute, and of
 * every simple statement, BEGIN and COMMIT too. Network, queues and everything of the client's side are outside.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import pg from 'pg';

const USAGE = /^\s*!\s+([\d.]+) s user, ([\d.]+) s system, /gm;
const DURATION = /duration: ([\d.]+) ms {2}(?:parse|bind|execute|statement)\b/g;
/** Written while the service's own clock ticks, whoever asks or nobody: they belong to no request. */
const BACKGROUND = /^listen |pg_notify|policy_change.*since/;

/** Has sessions of that database, from the next one on, log how long each statement took. */
export async function logStatements(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const database = client.escapeIdentifier(new URL(url).pathname.slice(1));
  await client.query(`alter database ${database} set log_min_messages = 'log'`);
  await client.query(`alter database ${database} set log_parameter_max_length = 0`);
  await client.query(`alter database ${database} set log_min_duration_statement = 0`);
  await client.query(`alter database ${database} set log_statement_stats = on`);
  await client.end();
}

/** What the server did meanwhile. */
export interface DatabaseTime {
  ms: number;
  /** CPU of the server's process for the same, in ms: what stays the same on a machine that others use too. */
  cpu: number;
  /** Statements of the longest duration first, cut short: for finding what is slow. */
  slowest: { ms: number; sql: string }[];
}

export class StatementLog {
  readonly #file: string;
  #at: number;

  constructor(file: string) {
    this.#file = file;
    this.#at = statSync(file).size;
  }

  /** Forgets what was logged so far. */
  skip(): void {
    this.#at = statSync(this.#file).size;
  }

  /** What was logged since the last call. A statement is logged before its answer leaves, so nothing of an answered request is lacking. */
  take(): DatabaseTime {
    const size = statSync(this.#file).size;
    const bytes = Buffer.alloc(size - this.#at);
    const file = openSync(this.#file, 'r');
    readSync(file, bytes, 0, bytes.length, this.#at);
    closeSync(file);
    this.#at = size;
    const text = bytes.toString('utf8');
    const found = [...text.matchAll(DURATION)].map((match) => {
      const sql = text.slice(match.index + match[0].length, match.index + match[0].length + 300);
      return {
        ms: Number(match[1]),
        sql: sql
          .replace(/^[^:]*:\s*/, '')
          .replaceAll(/\s+/g, ' ')
          .slice(0, 160),
      };
    });
    const ours = found.filter(({ sql }) => !BACKGROUND.test(sql));
    const usage = [...text.matchAll(USAGE)].map(([, user, system]) => (Number(user) + Number(system)) * 1000);
    return {
      cpu: usage.reduce((sum, ms) => sum + ms, 0),
      ms: ours.reduce((sum, { ms }) => sum + ms, 0),
      slowest: ours.toSorted((a, b) => b.ms - a.ms).slice(0, 3),
    };
  }
}
