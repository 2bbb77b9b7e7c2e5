import { UsherError, unavailable } from '../../base/errors.ts';

/**
 * What a driver threw, without its words: those hold statements and values, and must not reach a log or a caller.
 * Inside `change(fn)` this is what a failed statement throws; a feature that expects one asks for `constraint`.
 */
export class StatementFailed extends Error {
  /** Five characters of PostgreSQL's SQLSTATE, or null when the server said nothing (the connection was lost). */
  readonly sqlState: string | null;
  /** The violated constraint's name, where one was violated. */
  readonly constraint: string | null;
  /** The connection is of no more use; the fate of the statement is unknown. */
  readonly lost: boolean;
  /** What happened, in a few words that hold nothing of the statement. */
  readonly what: string;
  /** The connection turned out dead before its transaction had begun: nothing was asked of it. */
  readonly unbegun: boolean;

  constructor(sqlState: string | null, constraint: string | null, lost: boolean, what: string, unbegun = false) {
    super(`The database did not carry out a statement: ${what}`);
    this.name = 'StatementFailed';
    this.sqlState = sqlState;
    this.constraint = constraint;
    this.lost = lost;
    this.what = what;
    this.unbegun = unbegun;
  }
}

/** Why no connection was made, as far as the driver or the server says. */
export type ConnectReason =
  | 'refused'
  | 'unknown-host'
  | 'unreachable'
  | 'timeout'
  | 'closed'
  | 'tls-refused'
  | 'tls-required'
  | 'tls-untrusted'
  | 'password'
  | 'no-password'
  | 'role'
  | 'not-admitted'
  | 'no-database'
  | 'no-right'
  | 'not-accepting'
  | 'full'
  | 'not-ready'
  | 'pooler'
  | 'other';

/**
 * No connection was made. What the server or the network says at that point is never about a statement, whatever its code: it is
 * the operator's to mend, and UNAVAILABLE for every caller.
 */
export class ConnectFailed extends StatementFailed {
  readonly reason: ConnectReason;

  constructor(sqlState: string | null, what: string, reason: ConnectReason) {
    super(sqlState, null, true, what);
    this.name = 'ConnectFailed';
    this.message = `No connection to the database was made: ${what}`;
    this.reason = reason;
  }
}

/** Codes of Node's sockets and name resolution; all else without a SQLSTATE is judged by how it came about. */
const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** States after which a connection is not used again: it ends, or (26000, 42P05) a pooler took our statements away. */
const LOST = /^(08|57P|25P03|25P04|26000|42P05|25006)/;

/** States that say "not now" rather than "wrong": limits, locks, resources, start-up and shutdown, roles, files. */
const TROUBLE = /^(08|53|57|58|XX|28|3D|25P03|25P04|25006|26000|42P05|55P03|40001|40P01)/;

const FATAL: ReadonlySet<string> = new Set(['FATAL', 'PANIC']);

/** A driver's error as a StatementFailed. Errors of ours, and mistakes in our own code, pass unchanged. */
export function statementFailed(error: unknown): Error {
  if (error instanceof UsherError || error instanceof StatementFailed) return error;
  if (error instanceof TypeError || error instanceof RangeError) return error;
  const code = stringField(error, 'code');
  if (code !== null && /^[0-9A-Z]{5}$/.test(code) && !SOCKET_CODES.has(code)) {
    const constraint = stringField(error, 'constraint');
    const what = constraint === null ? `SQLSTATE ${code}` : `SQLSTATE ${code}, ${constraint}`;
    // A server that ends the session did not judge the statement; a pooler says so of a connection that it could not make.
    const fatal = FATAL.has(stringField(error, 'severity') ?? '');
    return withStackOf(error, new StatementFailed(code, constraint, fatal || LOST.test(code), what));
  }
  // Without a SQLSTATE the server did not judge the statement: socket, protocol, or PGlite's process within.
  return withStackOf(error, new StatementFailed(null, null, true, `the connection failed (${code ?? nameOf(error)})`));
}

function withStackOf(error: unknown, failed: StatementFailed): StatementFailed {
  // The driver's frames lead to the caller; its first line, with its words, is left out.
  const frames = error instanceof Error ? error.stack?.split('\n').filter((line) => /^\s+at /.test(line)) : undefined;
  if (frames !== undefined && frames.length > 0)
    failed.stack = `${failed.name}: ${failed.message}\n${frames.join('\n')}`;
  return failed;
}

const AWAY = 'The database cannot be reached just now.';

/** What `read`, `change` and the facts reject with: database trouble becomes 503, everything else passes. */
export function toDatabaseError(error: unknown): unknown {
  if (!(error instanceof StatementFailed)) return error;
  // Without the cause: the pool has logged it, once for all callers.
  if (error instanceof ConnectFailed) return unavailable(AWAY);
  if (error.lost && error.sqlState === null) return unavailable(AWAY, error);
  if (isWorthRepeating(error)) return unavailable('Others wrote the same thing first, each time; try again.', error);
  if (error.sqlState !== null && (error.lost || TROUBLE.test(error.sqlState))) {
    return unavailable('The database could not do this in time; try again shortly.', error);
  }
  return error;
}

/**
 * States that another transaction brought about: serialization and deadlock; and a reference or a unique value that was looked
 * up and found good, but is not any more (what it names was deleted, or taken, meanwhile).
 */
const OVERTAKEN: ReadonlySet<string | null> = new Set(['40001', '40P01', '23503', '23505']);

/** Whether the same work may simply be done again: a look-up then sees what overtook it, and says so in its own words. */
export function isWorthRepeating(error: unknown): boolean {
  return error instanceof StatementFailed && OVERTAKEN.has(error.sqlState);
}

/** The failure of a BEGIN. */
export function failedToBegin(error: unknown): unknown {
  if (!(error instanceof StatementFailed) || !error.lost) return error;
  const { sqlState, constraint, lost, what } = error;
  return withStackOf(error, new StatementFailed(sqlState, constraint, lost, what, true));
}

/** Whether all was for nothing because the connection was dead, as idle ones may be without anybody knowing. */
export function isUnbegun(error: unknown): boolean {
  return error instanceof StatementFailed && error.unbegun;
}

/** Whether the connection that threw `error` must not be used again. */
export function isLost(error: unknown): boolean {
  return error instanceof StatementFailed && error.lost;
}

function stringField(error: unknown, field: string): string | null {
  if (typeof error !== 'object' || error === null || !(field in error)) return null;
  const value: unknown = (error as Record<string, unknown>)[field];
  return typeof value === 'string' && value !== '' ? value : null;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
