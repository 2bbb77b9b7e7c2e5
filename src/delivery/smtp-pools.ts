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
import type { ComposedMail, SmtpServer } from './message.ts';
import { readWhole } from './mime.ts';
import { loadNodemailer } from './packages.ts';
import { LostAfterData } from './smtp-failure.ts';

export interface SmtpPoolOptions {
  clock: Clock;
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

export class SmtpPools {
  readonly #options: SmtpPoolOptions;
  /** By sender and urgency, the least recently used first. */
  readonly #pools = new Map<string, Pool>();
  readonly #sending = new Set<Promise<unknown>>();
  readonly #cut = new AbortController();

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
    const pool = this.#poolOf(`${sender}:${urgent}`, smtp);
    const limit = new AbortController();
    const cancel = this.#options.clock.after(SMTP_LIMITS.sendMs, () => limit.abort());
    const unfollow = follow(limit, [this.#cut.signal, ...(signal === undefined ? [] : [signal])]);
    pool.pending++;
    const sending = transmit(pool.transport, mail, limit.signal);
    this.#sending.add(sending);
    try {
      return await sending;
    } finally {
      cancel();
      unfollow();
      this.#sending.delete(sending);
      if (--pool.pending === 0 && pool.retired) pool.transport.close();
    }
  }

  async close(): Promise<void> {
    const cancel = this.#options.clock.after(SMTP_LIMITS.drainMs, () => this.#cut.abort());
    for (const [key, pool] of this.#pools) this.#retire(key, pool);
    await Promise.allSettled(this.#sending);
    cancel();
  }

  #poolOf(key: string, smtp: SmtpServer): Pool {
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
    const pool = { configuration, transport: createTransport(smtp, this.#options), pending: 0, retired: false };
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

function createTransport(
  smtp: SmtpServer,
  { ca, addressOf = (host) => host }: Omit<SmtpPoolOptions, 'clock'>,
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
    ...(smtp.user === null || smtp.password === null ? {} : { auth: { user: smtp.user, pass: smtp.password } }),
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
export async function verifyServer(smtp: SmtpServer, options: Pick<SmtpPoolOptions, 'ca'> = {}): Promise<void> {
  const transport = createTransport(smtp, options);
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
