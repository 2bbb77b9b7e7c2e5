/**
 * Connections to SMTP servers, pooled by sender, so that a bad server delays its own sender only. A changed configuration replaces
 * its pool.
 */

import { hash } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import type MimeNode from 'nodemailer/lib/mime-node';
import type SMTPPool from 'nodemailer/lib/smtp-pool';
import type { Clock } from '../base/clock.ts';
import { addressKind, isLoopbackHost } from '../base/ip-address.ts';
import { unlessAborted } from '../base/wait.ts';
import type { AccessTokens, TokenOwner } from './access-tokens.ts';
import type { ComposedMail, SmtpServer } from './message.ts';
import { readWhole } from './mime.ts';
import { loadNodemailer } from './packages.ts';
import { LostAfterData } from './smtp-failure.ts';
import { type SignIn, signIn, TOKEN_MECHANISM } from './smtp-sign-in.ts';

export interface SmtpPoolOptions {
  clock: Clock;
  tokens: AccessTokens;
  /** For tests: an additional certificate authority to trust. */
  ca?: string;
  /** For tests: replaces name resolution. */
  addressOf?: (host: string) => string;
}

export const SMTP_LIMITS = {
  /** From the call to the server's last reply, including the wait for a connection. */
  sendMs: 60_000,
  connectMs: 10_000,
  greetingMs: 10_000,
  /** The longest silence of the server during a session. */
  silenceMs: 20_000,
  connectionsPerPool: 3,
  messagesPerConnection: 100,
  /** One more retires the least recently used. */
  pools: 64,
  drainMs: 5_000,
} as const;

interface Pool {
  readonly configuration: string;
  readonly transport: SMTPPool;
  pending: number;
  /** Replaced or closed: the pool closes after its last message. */
  retired: boolean;
}

interface Sending {
  readonly sender: number;
  readonly smtp: SmtpServer;
  readonly urgent: boolean;
  readonly mail: ComposedMail;
}

export class SmtpPools {
  readonly #options: SmtpPoolOptions;
  /** By sender and urgency, the least recently used first. */
  readonly #pools = new Map<string, Pool>();
  readonly #sending = new Set<Promise<unknown>>();
  readonly #cut = new AbortController();
  #closed = false;

  constructor(options: SmtpPoolOptions) {
    this.#options = options;
  }

  /** Resolves with the server's last reply. Rejects with the client's error, or LostAfterData. */
  async send(
    sender: number,
    smtp: SmtpServer,
    urgent: boolean,
    mail: ComposedMail,
    signal?: AbortSignal,
  ): Promise<string> {
    const limit = new AbortController();
    const cancel = this.#options.clock.after(SMTP_LIMITS.sendMs, () => limit.abort());
    const unfollow = follow(limit, [this.#cut.signal, ...(signal === undefined ? [] : [signal])]);
    const sending = this.#sendWithin(limit.signal, { sender, smtp, urgent, mail });
    this.#sending.add(sending);
    try {
      return await sending;
    } finally {
      cancel();
      unfollow();
      this.#sending.delete(sending);
    }
  }

  async #sendWithin(signal: AbortSignal, { sender, smtp, urgent, mail }: Sending): Promise<string> {
    // Before there is a session that waits for it.
    const owner = ownerOf(sender, smtp);
    if (owner !== null) await unlessAborted(this.#options.tokens.tokenOf(owner), signal, waitIsOver);
    const pool = this.#poolOf(`${sender}:${urgent}`, sender, smtp);
    pool.pending++;
    try {
      return await transmit(pool.transport, mail, signal);
    } finally {
      if (--pool.pending === 0 && (pool.retired || this.#closed)) pool.transport.close();
    }
  }

  /** The access token that the sender's sessions begin with; null for none. */
  tokenOf(sender: number, smtp: SmtpServer): string | null {
    const owner = ownerOf(sender, smtp);
    return owner === null ? null : this.#options.tokens.lastOf(owner);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const cancel = this.#options.clock.after(SMTP_LIMITS.drainMs, () => this.#cut.abort());
    for (const [key, pool] of this.#pools) this.#retire(key, pool);
    await Promise.allSettled(this.#sending);
    cancel();
  }

  #poolOf(key: string, sender: number, smtp: SmtpServer): Pool {
    const configuration = hash('sha256', JSON.stringify(smtp), 'hex');
    const present = this.#pools.get(key);
    if (present?.configuration === configuration) {
      this.#pools.delete(key);
      this.#pools.set(key, present);
      return present;
    }
    if (present !== undefined) this.#retire(key, present);
    for (const [oldest, pool] of this.#pools) {
      if (this.#pools.size < SMTP_LIMITS.pools) break;
      this.#retire(oldest, pool);
    }
    const transport = createTransport(sender, smtp, this.#options);
    const pool = { configuration, transport, pending: 0, retired: false };
    this.#pools.set(key, pool);
    return pool;
  }

  #retire(key: string, pool: Pool): void {
    this.#pools.delete(key);
    pool.retired = true;
    if (pool.pending === 0) pool.transport.close();
  }
}

/** Aborts the controller with any of the signals; returns a function that removes the listeners, which `AbortSignal.any` leaves to garbage collection. */
function follow(controller: AbortController, signals: readonly AbortSignal[]): () => void {
  const abort = (): void => controller.abort();
  for (const signal of signals) {
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  }
  return () => {
    for (const signal of signals) signal.removeEventListener('abort', abort);
  };
}

function ownerOf(id: number, { user, oauth2 }: SmtpServer): TokenOwner | null {
  return user === null || oauth2 === null ? null : { id, account: oauth2 };
}

function waitIsOver(): Error {
  return Object.assign(new Error('the wait for an access token is over'), { code: 'EABORT' });
}

/** How a session with the server logs in; nothing without a login. */
function loginOf(
  sender: number,
  { host, port, user, password, oauth2 }: SmtpServer,
  tokens: AccessTokens,
): Pick<SMTPPool.Options, 'auth' | 'customAuth'> {
  if (user !== null && oauth2 !== null) {
    const how: SignIn = { tokens, owner: { id: sender, account: oauth2 }, server: { host, port, user } };
    return {
      auth: { type: 'CUSTOM', method: TOKEN_MECHANISM, user },
      customAuth: { [TOKEN_MECHANISM]: (session) => signIn(session, how) },
    };
  }
  return user === null || password === null ? {} : { auth: { user, pass: password } };
}

function createTransport(
  sender: number,
  smtp: SmtpServer,
  { ca, addressOf = (host) => host, tokens }: Omit<SmtpPoolOptions, 'clock'>,
): SMTPPool {
  // Where cleartext is accepted, an invalid certificate adds no risk.
  const lax = smtp.allowInsecure || isLoopbackHost(smtp.host);
  const { SMTPPool } = loadNodemailer();
  const transport = new SMTPPool({
    pool: true,
    host: addressOf(smtp.host),
    port: smtp.port,
    secure: smtp.secure,
    requireTLS: !lax && !smtp.secure,
    tls: {
      minVersion: 'TLSv1.2',
      rejectUnauthorized: !lax,
      ...(ca === undefined ? {} : { ca }),
      ...(addressKind(smtp.host) === 'never' ? { servername: smtp.host } : {}),
    },
    ...loginOf(sender, smtp, tokens),
    connectionTimeout: SMTP_LIMITS.connectMs,
    greetingTimeout: SMTP_LIMITS.greetingMs,
    socketTimeout: SMTP_LIMITS.silenceMs,
    dnsTimeout: SMTP_LIMITS.connectMs,
    socketCloseTimeout: 1_000,
    maxConnections: SMTP_LIMITS.connectionsPerPool,
    maxMessages: SMTP_LIMITS.messagesPerConnection,
    maxRequeues: 1,
    idleTimeout: 30_000,
  });
  // An `error` event without a listener would end the process; the callback of the message gets the error.
  (transport as EventEmitter).on('error', () => undefined);
  return transport;
}

/** Opens a session with the server, logs in where there is a login, and leaves. Rejects with the client's error. */
export async function verifyServer(
  sender: number,
  smtp: SmtpServer,
  options: Pick<SmtpPoolOptions, 'ca' | 'tokens'>,
): Promise<void> {
  const owner = ownerOf(sender, smtp);
  if (owner !== null) await options.tokens.tokenOf(owner);
  const transport = createTransport(sender, smtp, options);
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}

/** The members of a message that nodemailer's transport reads. */
type Sendable = Pick<MimeNode, 'getEnvelope' | 'messageId' | 'getHeader' | 'createReadStream'>;

/** A mail that records whether the client has begun to read it, which it does only after the server's reply 354. */
class Message implements Sendable {
  readonly #node: MimeNode;
  #stream: Readable | undefined;

  constructor(mail: ComposedMail) {
    const { MailComposer } = loadNodemailer();
    this.#node = new MailComposer({
      from: mail.from,
      to: { name: '', address: mail.to },
      envelope: { from: mail.from.address, to: [mail.to] },
      subject: mail.subject,
      text: mail.text,
      html: mail.html,
      messageId: mail.messageId,
      headers: mail.headers,
      disableFileAccess: true,
      disableUrlAccess: true,
    }).compile();
  }

  /** Whether a part of it may have been sent. */
  get begun(): boolean {
    return this.#stream?.readableDidRead ?? false;
  }

  getEnvelope(): ReturnType<MimeNode['getEnvelope']> {
    return this.#node.getEnvelope();
  }

  messageId(): string {
    return this.#node.messageId();
  }

  getHeader(key: string): ReturnType<MimeNode['getHeader']> {
    return this.#node.getHeader(key);
  }

  createReadStream(): Readable {
    this.#stream = readWhole(this.#node);
    return this.#stream;
  }
}

/** Sends one message. Rejects with LostAfterData when a part of it may have been sent. */
async function transmit(transport: SMTPPool, mail: ComposedMail, signal: AbortSignal): Promise<string> {
  const message = new Message(mail);
  // The type describes the message of nodemailer's mailer; a transport reads these two members only.
  const sending = { data: { signal }, message } as unknown as Parameters<SMTPPool['send']>[0];
  return await new Promise((resolve, reject) => {
    transport.send(sending, (error, info) => {
      if (error) reject(message.begun ? new LostAfterData(error) : error);
      else resolve(String(info?.response ?? ''));
    });
  });
}
