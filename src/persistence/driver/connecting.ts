import { ConnectFailed, type ConnectReason, withoutServer } from './failures.ts';

const BY_CODE: Readonly<Record<string, ConnectReason>> = {
  ECONNREFUSED: 'refused',
  ENOENT: 'refused',
  ENOTFOUND: 'unknown-host',
  EAI_AGAIN: 'unknown-host',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ETIMEDOUT: 'timeout',
  ECONNRESET: 'closed',
  EPIPE: 'closed',
  SELF_SIGNED_CERT_IN_CHAIN: 'tls-untrusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls-untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'tls-untrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'tls-untrusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'tls-untrusted',
  CERT_HAS_EXPIRED: 'tls-untrusted',
  '08P01': 'pooler',
  '28P01': 'password',
  '28000': 'role',
  '3D000': 'no-database',
  '42501': 'no-right',
  '53300': 'full',
  '55000': 'not-accepting',
  '57P03': 'not-ready',
};

/** Errors of the driver itself, which have no code. */
const BY_MESSAGE: readonly (readonly [RegExp, ConnectReason])[] = [
  [/timeout/i, 'timeout'],
  [/does not support SSL/i, 'tls-refused'],
  [/client password must be/i, 'no-password'],
  [/terminated unexpectedly|socket hang up/i, 'closed'],
];

/** A driver's error while connecting. Its message is not kept: it may contain the role and the password. */
export function connectFailed(error: unknown): ConnectFailed {
  const { code, message, routine } = fields(error);
  const away = withoutServer(code, message);
  if (away !== null) return away;
  const sqlState = /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E') ? code : null;
  const reason = reasonOf(code, message, routine);
  const what =
    sqlState !== null ? `SQLSTATE ${sqlState}` : `connection failed (${code === '' ? (reason ?? 'Error') : code})`;
  return new ConnectFailed(sqlState, what, reason ?? 'other');
}

function reasonOf(code: string, message: string, routine: string): ConnectReason | undefined {
  // 28000 is for a role that may not log in, and for pg_hba.conf. The routine's name is in English everywhere.
  if (code === '28000' && routine === 'ClientAuthentication') {
    return /no encryption|SSL off/.test(message) ? 'tls-required' : 'not-admitted';
  }
  return BY_CODE[code] ?? BY_MESSAGE.find(([words]) => words.test(message))?.[1];
}

function fields(error: unknown): { code: string; message: string; routine: string } {
  const given = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const text = (field: string): string => (typeof given[field] === 'string' ? given[field] : '');
  return { code: text('code'), message: text('message'), routine: text('routine') };
}
