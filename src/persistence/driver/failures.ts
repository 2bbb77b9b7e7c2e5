import { UsherError, unavailable } from '../../base/errors.ts';

/**
 * A driver's error without its message, which contains statements and values and must not reach a log or a caller.
 * Inside `change(fn)` a failed statement throws this; a feature that expects a violation checks `constraint`.
 */
export class StatementFailed extends Error {
  /** Five characters of PostgreSQL's SQLSTATE, or null without an answer of the server (the connection was lost). */
  readonly sqlState: string | null;
  /** The name of the violated constraint, if any. */
  readonly constraint: string | null;
  /** The connection cannot be used again; the outcome of the statement is unknown. */
  readonly lost: boolean;
  /** What happened, in a few words without any part of the statement. */
  readonly what: string;
  /** The connection was dead before its transaction had begun: nothing was executed. */
  readonly unbegun: boolean;

  constructor(sqlState: string | null, constraint: string | null, lost: boolean, what: string, unbegun = false) {
    super(`database statement failed: ${what}`);
    this.name = 'StatementFailed';
    this.sqlState = sqlState;
    this.constraint = constraint;
    this.lost = lost;
    this.what = what;
    this.unbegun = unbegun;
  }
}

/** Why connecting failed, as far as the driver or the server says. */
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
  | 'no-server'
  | 'other';

/**
 * Connecting failed. Errors at that point are never about a statement, whatever their code: they are
 * the operator's to mend, and UNAVAILABLE for every caller.
 */
export class ConnectFailed extends StatementFailed {
  readonly reason: ConnectReason;

  constructor(sqlState: string | null, what: string, reason: ConnectReason) {
    super(sqlState, null, true, what);
    this.name = 'ConnectFailed';
    this.message = `database connection failed: ${what}`;
    this.reason = reason;
  }
}

/**
 * What PgBouncer says in 08P01, at the start of a connection or in place of an answer to its first statement, when it could connect to
 * no server: nothing was executed. With the same code it refuses what it is not set up for.
 */
const NO_SERVER = /server login has been failing|server down|cannot connect to server/;

/** The failure of a pooler that has no server; null for anything else. */
export function withoutServer(code: string, message: string): ConnectFailed | null {
  return code === '08P01' && NO_SERVER.test(message) ? new ConnectFailed(code, `SQLSTATE ${code}`, 'no-server') : null;
}

/** Codes of Node's sockets and name resolution; other errors without a SQLSTATE are judged by their circumstances. */
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

/** States after which a connection is not used again: it ends, or (26000, 42P05) a pooler removed the prepared statements. */
const LOST = /^(08|57P|25P03|25P04|26000|42P05|25006)/;

/** States that mean "not now" rather than "wrong": limits, locks, resources, start-up and shutdown, roles, files. */
const TROUBLE = /^(08|53|57|58|XX|28|3D|25P03|25P04|25006|26000|42P05|55P03|40001|40P01)/;

const FATAL: ReadonlySet<string> = new Set(['FATAL', 'PANIC']);

/** A driver's error as a StatementFailed. Our own errors, and defects in our code, pass unchanged. */
export function statementFailed(error: unknown): Error {
  if (error instanceof UsherError || error instanceof StatementFailed) return error;
  if (error instanceof TypeError || error instanceof RangeError) return error;
  const code = stringField(error, 'code');
  if (code !== null && /^[0-9A-Z]{5}$/.test(code) && !SOCKET_CODES.has(code)) {
    const away = withoutServer(code, stringField(error, 'message') ?? '');
    if (away !== null) return withStackOf(error, away);
    const constraint = stringField(error, 'constraint');
    const what = constraint === null ? `SQLSTATE ${code}` : `SQLSTATE ${code}, ${constraint}`;
    // A server that ends the session did not judge the statement; a pooler reports a connection that it could not make like this.
    const fatal = FATAL.has(stringField(error, 'severity') ?? '');
    return withStackOf(error, new StatementFailed(code, constraint, fatal || LOST.test(code), what));
  }
  // Without a SQLSTATE the server did not judge the statement: socket, protocol, or PGlite itself.
  return withStackOf(error, new StatementFailed(null, null, true, `connection failed (${code ?? nameOf(error)})`));
}

function withStackOf(error: unknown, failed: StatementFailed): StatementFailed {
  // The driver's frames lead to the caller; its first line, with the message, is left out.
  const frames = error instanceof Error ? error.stack?.split('\n').filter((line) => /^\s+at /.test(line)) : undefined;
  if (frames !== undefined && frames.length > 0)
    failed.stack = `${failed.name}: ${failed.message}\n${frames.join('\n')}`;
  return failed;
}

const AWAY = 'The database is unavailable; try again shortly.';
/** A standby: for good, or until a failover is over. */
const TAKES_NO_WRITES = 'The database takes no writes at the moment; try again shortly.';

/** The error that callers of `read`, `change` and the facts get: database trouble becomes 503, everything else passes. */
export function toDatabaseError(error: unknown): unknown {
  if (!(error instanceof StatementFailed)) return error;
  // Without the cause: the pool has logged it, once for all callers.
  if (error instanceof ConnectFailed) return unavailable(AWAY);
  if (error.lost && error.sqlState === null) return unavailable(AWAY, error);
  if (isWorthRepeating(error))
    return unavailable('Concurrent writes to the same data overtook this one each time; try again.', error);
  if (error.sqlState === '25006') return unavailable(TAKES_NO_WRITES, error);
  if (error.sqlState !== null && (error.lost || TROUBLE.test(error.sqlState))) {
    return unavailable('The database did not complete this in time; try again shortly.', error);
  }
  return error;
}

/**
 * States caused by another transaction: serialization and deadlock; and a reference or a unique value that was
 * valid when it was looked up, and was deleted, or taken, meanwhile.
 */
const OVERTAKEN: ReadonlySet<string | null> = new Set(['40001', '40P01', '23503', '23505']);

/** Whether the same work may simply be repeated: its look-ups then see what overtook it, and refuse in their own words. */
export function isWorthRepeating(error: unknown): boolean {
  return error instanceof StatementFailed && OVERTAKEN.has(error.sqlState);
}

/** The failure of a BEGIN. */
export function failedToBegin(error: unknown): unknown {
  if (!(error instanceof StatementFailed) || !error.lost) return error;
  const { sqlState, constraint, lost, what } = error;
  return withStackOf(error, new StatementFailed(sqlState, constraint, lost, what, true));
}

/** Whether nothing was executed because the connection was dead, as an idle one may be unnoticed. */
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
