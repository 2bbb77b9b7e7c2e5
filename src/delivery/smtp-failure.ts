/** An error of the SMTP client as the value that decides what happens next. */

import type { MailOutcome, SmtpServer } from './message.ts';

/** Thrown by the pools when a message's bytes had begun to leave before the connection was lost. */
export class LostAfterData extends Error {
  constructor(cause: unknown) {
    super('the connection was lost after the message had begun to leave', { cause });
    this.name = 'LostAfterData';
  }
}

const MAX_WORDS = 500;
/** The message itself cannot be sent: no server was asked. */
const OURS = new Set(['EENVELOPE', 'EMESSAGE', 'EFILEACCESS', 'EURLACCESS', 'EMAXRECIPIENTS']);
/** RFC 4954 and 3207: authentication or encryption is needed first, or the credentials are wrong. */
const CREDENTIALS = new Set([530, 534, 535, 538]);

export function failureOf(error: unknown, smtp: SmtpServer | null): MailOutcome {
  const lost = error instanceof LostAfterData;
  const fault = (lost ? error.cause : error) as {
    code?: unknown;
    originalCode?: unknown;
    responseCode?: unknown;
    response?: unknown;
    permanent?: unknown;
    command?: unknown;
  };
  const reply = typeof fault.responseCode === 'number' ? fault.responseCode : null;
  const code = reply === null ? codeOf(fault) : String(reply);
  const response = wordsOf(fault.response, code, smtp);
  if (lost && reply === null) return { kind: 'unknown', code, response };
  if (reply === null) {
    if (fault.code === 'EAUTH') return { kind: 'auth', code, response };
    return { kind: OURS.has(code) ? 'permanent' : 'transient', code, response };
  }
  const atLogin = typeof fault.command === 'string' && fault.command.startsWith('AUTH');
  if (CREDENTIALS.has(reply) || (atLogin && reply >= 500)) return { kind: 'auth', code, response };
  // STARTTLS refused: a matter of the server or of our settings, not of this message.
  const permanent = fault.permanent === true && fault.code !== 'ETLS' && fault.code !== 'EPROTOCOL';
  return { kind: permanent ? 'permanent' : 'transient', code, response };
}

function codeOf({ code, originalCode }: { code?: unknown; originalCode?: unknown }): string {
  const precise = [originalCode, code].find((value) => typeof value === 'string' && /^[A-Z][A-Z0-9_]+$/.test(value));
  return typeof precise === 'string' ? precise : 'ECONNECTION';
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The server refused the connection.',
  ECONNECTION: 'The server closed the connection.',
  ECONNRESET: 'The server closed the connection.',
  ENOTFOUND: 'There is no server of that name.',
  EDNS: 'The name of the server could not be resolved.',
  ETIMEDOUT: 'The server did not answer in time.',
  EABORT: 'The server did not take the message in time.',
  ETLS: 'No encrypted connection could be made.',
  EAUTH: 'The server takes none of our ways to log in.',
};

/** The server's words on one line, without what we told it in confidence: some servers repeat it. */
function wordsOf(response: unknown, code: string, smtp: SmtpServer | null): string {
  if (typeof response !== 'string' || response === '') return WORDS[code] ?? 'The connection failed.';
  let words = response.toWellFormed().replace(/\s+/g, ' ');
  for (const secret of secretsOf(smtp)) words = words.replaceAll(secret, '***');
  return words
    .replace(/\p{Cc}/gu, '')
    .slice(0, MAX_WORDS)
    .toWellFormed();
}

/** The password as it is and as AUTH LOGIN and PLAIN carry it. */
function secretsOf(smtp: SmtpServer | null): string[] {
  if (smtp?.password == null || smtp.password === '') return [];
  const { user, password } = smtp;
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return [base64(`\0${user ?? ''}\0${password}`), base64(password), base64(password).replace(/=+$/, ''), password];
}
