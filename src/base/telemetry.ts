/** Logs, metrics and request ids: the operator's view of the service. Secrets never belong here. */

import { randomUUID } from 'node:crypto';
import { type DestinationStream, type Logger, pino } from 'pino';
import { Registry } from 'prom-client';
import type { Clock } from './clock.ts';
import { traceFields, tracer } from './tracing.ts';

export type { Logger } from 'pino';
export type { Registry } from 'prom-client';

/**
 * Field names whose values never reach a log line, up to two levels deep.
 * This guards against mistakes: callers should not pass them to the logger in the first place.
 */
const SECRET_FIELDS = new Set([
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'access_token',
  'accessToken',
  'refresh_token',
  'refreshToken',
  'client_secret',
  'clientSecret',
  'id_token',
  'apiKey',
  'signingKey',
  'privateKey',
  'secretKey',
  'x-internal-api-key',
  'x-webhook-secret',
  'idp-signature',
  'zitadel-signature',
]);
const SECRET_LEVELS = 2;

/** A structured logger: one JSON object a line. `level` as pino names them, or `silent`. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    // Not pino's own redaction: its forty paths cost a third of a request's time, for lines that contain none of them.
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: Record<string, unknown>) => masked(fields),
      bindings: (fields: Record<string, unknown>) => masked(fields),
    },
    // Includes the messages of causes. Driver errors can hold values: persistence/driver/failures.ts removes those first.
    serializers: { err: describeError },
    // Of the work under way.
    ...(tracer === null ? {} : { mixin: () => traceFields() }),
  };
  return pino(options, destination ?? standardOutput());
}

/** The message of a request's line. At thousands a second, one write per line would take a tenth of the time. */
export const REQUEST_LINE = 'request';

const METADATA: unique symbol = Symbol.for('pino.metadata');

/** The process's only writer to standard output. */
let output: BufferedLines | undefined;

function standardOutput(): BufferedLines {
  if (output === undefined) {
    const gathered = new BufferedLines(pino.destination({ dest: 1, sync: true }));
    process.once('exit', () => gathered.flush());
    output = gathered;
  }
  return output;
}

/**
 * Request lines that end in one turn of the event loop leave in one write, at its end. Every other line is written at once,
 * after those that wait, so that the order is kept and the lines that explain how the process ended are never lost.
 */
export class BufferedLines implements DestinationStream {
  /** Makes pino set `lastMsg` before each write. */
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

/** The fields with secrets masked; the same object when it has none. */
function masked(fields: Record<string, unknown>, levels = SECRET_LEVELS): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    const safe = SECRET_FIELDS.has(name) ? '***' : isNested(value) && levels > 0 ? masked(value, levels - 1) : value;
    if (safe === value) continue;
    copy ??= { ...fields };
    copy[name] = safe;
  }
  return copy ?? fields;
}

/** Errors have a serializer of their own. */
function isNested(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Error);
}

/** An error for the log: its name, message, code and stack. Causes follow, each the same way, to a depth of four. */
function describeError(error: unknown, depth = 0): unknown {
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

/** How long a repeated cause is not logged again, even if it recovered in between. */
const QUIET_MS = 10_000;

/**
 * For repeated attempts: logs each cause once until it recovers, and the recovery. One outage makes one line instead of one per
 * attempt.
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

const VISIBLE = /^[\x21-\x7e]{1,128}$/;

/** The caller's request id where it is 1 to 128 visible ASCII characters; else `otherwise`. */
export function visibleRequestId(given: string | undefined, otherwise: string): string {
  return given !== undefined && VISIBLE.test(given) ? given : otherwise;
}

/** A registry per application, so that two in one process (tests) stay apart. */
export function createRegistry(): Registry {
  return new Registry();
}
