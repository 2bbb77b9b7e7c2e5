/** Classifies errors of the SMTP client: whether the message is retried, and whether its brand is paused. */

import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import type { MailFailure, MailOutcome, SmtpServer } from './message.ts';
import { SignInRefused, spellingsOf } from './smtp-sign-in.ts';
import { TokenFailure } from './token-request.ts';

/** The connection was lost after part of the message had been sent: the server may have accepted it. */
export class LostAfterData extends Error {
  constructor(cause: unknown) {
    super('connection lost after part of the message was sent', { cause });
    this.name = 'LostAfterData';
  }
}

const MAX_RESPONSE = 500;
/** The client rejected the message itself; no server has seen it. */
const MESSAGE_ERRORS = new Set(['EENVELOPE', 'EMESSAGE', 'EFILEACCESS', 'EURLACCESS', 'EMAXRECIPIENTS']);
/** RFC 4954 and 3207: authentication or encryption is needed first, or the credentials are wrong. */
const CREDENTIALS = new Set([530, 534, 535, 538]);

interface Fault {
  code?: unknown;
  originalCode?: unknown;
  responseCode?: unknown;
  response?: unknown;
  command?: unknown;
}

/** `token`: the access token that the session may have begun with. */
export function failureOf(error: unknown, smtp: SmtpServer | null, token: string | null = null): MailOutcome {
  if (error instanceof TokenFailure) return { kind: error.kind, code: error.reason, response: error.response };
  const lost = error instanceof LostAfterData;
  const fault = (lost ? error.cause : error) as Fault;
  const reply = typeof fault.responseCode === 'number' ? fault.responseCode : null;
  const code = reply === null ? codeOf(fault) : String(reply);
  const tokens = [...(error instanceof SignInRefused ? error.tokens : []), ...(token === null ? [] : [token])];
  const response = responseText(fault.response, code, secretsOf(smtp, tokens));
  if (lost && reply === null) return { kind: 'unknown', code, response };
  if (reply === null) {
    if (fault.code === 'EAUTH') return { kind: 'auth', code, response };
    return { kind: MESSAGE_ERRORS.has(code) ? 'permanent' : 'transient', code, response };
  }
  const kind = kindOf(reply, fault);
  return { kind, code, response, ...(kind === 'permanent' ? { words: wordsOf(fault.response) } : {}) };
}

/** Words of this length with a digit are identifiers. An enhanced code behind its reply is shorter: `550-5.7.515`. */
const MIN_IDENTIFIER = 12;

/** Enhanced codes of RFC 3463 and of large providers that are about the sender: a limit of the account, a policy, a missing right. */
const OF_SENDER = new Set(['5.4.5', '5.7.26', '5.7.28', '5.7.57', '5.7.60', '5.7.515']);

/** By the command that the server replied to (docs/reference/notifications.md#refusals-by-mail-servers). */
function kindOf(reply: number, { command, code, response }: Fault): MailFailure {
  const stage = typeof command === 'string' ? command : '';
  if (CREDENTIALS.has(reply) || stage.startsWith('AUTH')) return 'auth';
  // A reply that ended a session which had begun: mostly a connection that was idle for too long.
  if (stage === 'CONN' && code !== 'EPROTOCOL') return 'transient';
  if (stage !== 'RCPT TO' && stage !== 'DATA') return 'account';
  if (reply < 500) return 'transient';
  return OF_SENDER.has(enhancedCode(response)) ? 'account' : 'permanent';
}

function enhancedCode(response: unknown): string {
  return /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})(?!\S)/.exec(String(response))?.[1] ?? '';
}

/** A hash of reply, enhanced code and text, without what differs in the same words: addresses, and identifiers of a session or message. */
function wordsOf(response: unknown): string {
  const words = String(response).toLowerCase().split(/\s+/);
  const same = words.filter((word) => !word.includes('@') && isIP(word.replaceAll(/[[\](),;]/g, '')) === 0);
  const named = same.filter((word) => word.length < MIN_IDENTIFIER || !/\d/.test(word));
  return hash('sha256', named.join(' '), 'base64url').slice(0, 22);
}

function codeOf({ code, originalCode }: { code?: unknown; originalCode?: unknown }): string {
  const precise = [originalCode, code].find((value) => typeof value === 'string' && /^[A-Z][A-Z0-9_]+$/.test(value));
  return typeof precise === 'string' ? precise : 'ECONNECTION';
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The server refused the connection.',
  ECONNECTION: 'The server closed the connection.',
  ECONNRESET: 'The server closed the connection.',
  ENOTFOUND: 'The name of the server does not exist.',
  EDNS: 'The name of the server could not be resolved.',
  ETIMEDOUT: 'The server did not answer in time.',
  EABORT: 'The server did not take the message in time.',
  ETLS: 'No encrypted connection could be made.',
  EAUTH: 'The server supports no authentication method that this service uses.',
};

/** The server's reply on one line. Some servers repeat the credentials: they are masked. */
function responseText(response: unknown, code: string, secrets: readonly string[]): string {
  if (typeof response !== 'string' || response === '') return EXPLANATIONS[code] ?? 'The connection failed.';
  let text = response.toWellFormed().replace(/\s+/g, ' ');
  for (const secret of secrets) text = text.replaceAll(secret, '***');
  return text
    .replace(/\p{Cc}/gu, '')
    .slice(0, MAX_RESPONSE)
    .toWellFormed();
}

/** The password in clear, and as AUTH LOGIN and AUTH PLAIN encode it; access tokens in clear, and as they were sent. */
function secretsOf(smtp: SmtpServer | null, tokens: readonly string[]): string[] {
  if (smtp === null) return [];
  const { user, password } = smtp;
  if (smtp.oauth2 !== null) return tokens.flatMap((token) => spellingsOf({ ...smtp, user: user ?? '' }, token));
  if (password === null || password === '') return [];
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return [base64(`\0${user ?? ''}\0${password}`), base64(password), base64(password).replace(/=+$/, ''), password];
}
