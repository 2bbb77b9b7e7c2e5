/**
 * Database time as the server itself counts it: the durations that it logs of every parse, bind (which plans) and execute, and of
 * every simple statement, BEGIN and COMMIT too. Network, queues and everything of the client's side are outside.
 */
import { configureSessions, ServerLog } from './server-log.ts';

const USAGE = /^\s*!\s+([\d.]+) s user, ([\d.]+) s system, /gm;
const DURATION = /duration: ([\d.]+) ms {2}(?:parse|bind|execute|statement)\b/g;
/** Written while the service's own clock ticks, whoever asks or nobody: they belong to no request. */
const BACKGROUND = /^listen |pg_notify|policy_change.*since/;

/** Has sessions of that database, from the next one on, log how long each statement took. */
export async function logStatements(url: string): Promise<void> {
  await configureSessions(url, {
    log_min_messages: 'log',
    log_parameter_max_length: '0',
    log_min_duration_statement: '0',
    log_statement_stats: 'on',
  });
}

/** What the server did meanwhile. */
export interface DatabaseTime {
  ms: number;
  /** CPU of the server's process for the same, in ms: what stays the same on a machine that others use too. */
  cpu: number;
  /** Statements of the longest duration first, cut short: for finding what is slow. */
  slowest: { ms: number; sql: string }[];
}

export class StatementLog extends ServerLog {
  /** What was logged since the last call. */
  take(): DatabaseTime {
    const text = this.read();
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
