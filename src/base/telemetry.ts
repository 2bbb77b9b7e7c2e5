/** Logs, metrics and request ids: what an operator sees of the service. Nothing secret goes through here. */

import { randomUUID } from 'node:crypto';
import { type DestinationStream, type Logger, pino } from 'pino';
import { Registry } from 'prom-client';
import type { Clock } from './clock.ts';

export type { Logger } from 'pino';
export type { Registry } from 'prom-client';

/**
 * Field names whose values never reach a log line, wherever they stand within two levels of an object.
 * A guard for mistakes: nothing should hand them to the logger in the first place.
 */
const SECRET_FIELDS = new Set([
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'access_token',
  'id_token',
  'apiKey',
  'signingKey',
  'privateKey',
  'secretKey',
  'x-internal-api-key',
  'x-webhook-secret',
  'idp-signature',
]);
const SECRET_LEVELS = 2;

/** A structured logger: one JSON object a line. `level` as pino names them, or `silent`. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    // Not pino's own redaction: its forty paths took a third of a request's time, for a line that has none of them.
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: Record<string, unknown>) => masked(fields),
      bindings: (fields: Record<string, unknown>) => masked(fields),
    },
    // With the messages of causes. Those of a database's driver hold values: persistence/driver/failures.ts takes them away before.
    serializers: { err: describeError },
  };
  return pino(options, destination ?? standardOutput());
}

/** What the line of a request says: with thousands of them a second, a write each takes a tenth of the time. */
export const REQUEST_LINE = 'request';

const METADATA: unique symbol = Symbol.for('pino.metadata');

/** The one way to standard output of this process. */
let output: GatheredLines | undefined;

function standardOutput(): GatheredLines {
  if (output === undefined) {
    const gathered = new GatheredLines(pino.destination({ dest: 1, sync: true }));
    process.once('exit', () => gathered.flush());
    output = gathered;
  }
  return output;
}

/**
 * Lines of requests that end in one turn of the event loop leave in one write, at its end. Every other line leaves at once,
 * behind those that wait, so that the order stays and nothing is lost that explains how the process ended.
 */
export class GatheredLines implements DestinationStream {
  /** Asks pino to say what it is about to write. */
  readonly [METADATA] = true;
  lastMsg: string | undefined;
  readonly #out: DestinationStream;
  #waiting = '';

  constructor(out: DestinationStream) {
    this.#out = out;
  }

  write(line: string): void {
    if (this.lastMsg !== REQUEST_LINE) {
      this.#send(line);
      return;
    }
    if (this.#waiting === '') setImmediate(() => this.flush());
    this.#waiting += line;
  }

  flush(): void {
    if (this.#waiting !== '') this.#send('');
  }

  #send(line: string): void {
    const lines = this.#waiting + line;
    this.#waiting = '';
    this.#out.write(lines);
  }
}

/** The fields without secrets: themselves where there is none in them. */
function masked(fields: Record<string, unknown>, levels = SECRET_LEVELS): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    const shown = SECRET_FIELDS.has(name) ? '***' : isNested(value) && levels > 0 ? masked(value, levels - 1) : value;
    if (shown === value) continue;
    copy ??= { ...fields };
    copy[name] = shown;
  }
  return copy ?? fields;
}

/** Errors have a serializer of their own. */
function isNested(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Error);
}

/** An error for the log: its name, message, code and stack. Causes follow, each the same way, to a depth of four. */
export function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { name: typeof error };
  const { name, message, stack, cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  return {
    name,
    message,
    ...code,
    stack,
    ...(cause !== undefined && depth < 4 ? { cause: describeError(cause, depth + 1) } : {}),
  };
}

/** The same cause is not logged again so soon, even when it came and went meanwhile. */
const QUIET_MS = 10_000;

/**
 * For what is tried again and again: logs each cause once until it works again, and that it does. So one outage is a line, not a
 * line for each try.
 */
export class FailureLog {
  readonly #parts: { log: Logger; clock: Clock; failing: string; working: string };
  /** When each cause was logged, and whether it has worked since. */
  readonly #causes = new Map<string, { at: number; over: boolean }>();
  #failing = false;

  constructor(parts: { log: Logger; clock: Clock; failing: string; working: string }) {
    this.#parts = parts;
  }

  failed(error: unknown): void {
    const { log, clock, failing } = this.#parts;
    const cause = causeOf(error);
    const known = this.#causes.get(cause);
    if (known !== undefined && (!known.over || clock.monotonic() - known.at < QUIET_MS)) return;
    this.#causes.set(cause, { at: clock.monotonic(), over: false });
    this.#failing = true;
    log.warn({ err: error }, failing);
  }

  succeeded(): void {
    if (!this.#failing) return;
    this.#failing = false;
    for (const cause of this.#causes.values()) cause.over = true;
    this.#parts.log.info(this.#parts.working);
  }
}

function causeOf(error: unknown): string {
  const words: string[] = [];
  for (let at = error; at instanceof Error && words.length < 4; at = at.cause) words.push(at.message);
  return words.join(': ');
}

const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;

/** The caller's request id where it is fit to be repeated, else a new one (docs/reference/http.md#error-bodies). */
export function requestId(given: string | undefined): string {
  return given !== undefined && REQUEST_ID.test(given) ? given : randomUUID();
}

/** A registry of its own for every application, so that two in one process (tests) do not meet. */
export function createRegistry(): Registry {
  return new Registry();
}
