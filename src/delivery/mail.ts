/**
 * The mail transport: one message by one sender's SMTP server, and what came of it as a value. Knows no templates and no brands
 * beyond what it is handed. (Contract 7; facts/mail: STARTTLS, time limits, what may be sent again.)
 */

import { renderLayout, renderText } from './layout.ts';
import { fold, isSafeHeader } from './mail-headers.ts';
import type { Mailbox } from './mailbox.ts';
import { failureOf } from './smtp-failure.ts';
import { type SmtpPoolOptions, SmtpPools } from './smtp-pools.ts';

/** An SMTP server and how to speak to it. */
export interface SmtpServer {
  host: string;
  port: number;
  /** TLS from the first byte (port 465); without it STARTTLS. */
  secure: boolean;
  /** Neither TLS nor a certificate that fits is insisted on. Loopback hosts are exempt anyway. */
  allowInsecure: boolean;
  /** Null or without a password: no authentication. */
  user: string | null;
  password: string | null;
}

/** Who sends: a brand, as mail needs it. */
export interface MailSender {
  brandId: number;
  slug: string;
  name: string;
  from: { address: string; name: string };
  look: {
    /** `#rrggbb`; null: the default look. */
    primaryColor: string | null;
    backgroundColor: string | null;
    logoUrl: string | null;
    footerText: string | null;
  };
  /** Null: this brand cannot send. */
  smtp: SmtpServer | null;
}

export interface MailMessage {
  /** One normalised address. */
  to: string;
  subject: string;
  /** The body's fragment; the sender's look is put around it here. */
  html: string;
  text: string;
  /** For `lang` and `dir`. */
  locale: string;
  /** Stable over retries, without angle brackets: `ID@HOST`. */
  messageId: string;
  /** Overrides the displayed name of the sender, and nothing else. */
  fromName: string | null;
  headers?: Readonly<Record<string, string>>;
  /** Shown under the fragment, and as a line of the text. */
  button?: { text: string; url: string };
  /** Goes by connections of its own: auth mails wait behind no others (contract 6). */
  urgent?: boolean;
}

/**
 * What came of a message. `transient`: it did not go out and may later. `permanent`: this message never will. `auth`: the server
 * does not take the sender's credentials. `unknown`: the connection was lost when the server may have had it all: send it again
 * with the same Message-ID. `no_smtp`: the brand has no server. `code` is the server's (`550`) or the connection's
 * (`ECONNREFUSED`); `response` the server's own words, without credentials, at most 500 characters.
 */
export type MailOutcome = { kind: 'sent'; response: string } | { kind: MailFailure; code: string; response: string };
export type MailFailure = 'transient' | 'permanent' | 'auth' | 'unknown' | 'no_smtp';

export interface Mailer {
  /** Never rejects because of the server. After `signal`, or the time limit, the connection is cut. */
  send(sender: MailSender, message: MailMessage, signal?: AbortSignal): Promise<MailOutcome>;
  /** Lets what is on its way go out for a few seconds, then cuts it. */
  close(): Promise<void>;
}

export interface MailerOptions extends SmtpPoolOptions {
  /** Where mail goes that no brand can send; null in production. */
  mailbox: Mailbox | null;
}

/** A mailer with its own pools of connections. */
export function createMailer({ mailbox, ...options }: MailerOptions): Mailer {
  const pools = new SmtpPools(options);
  return {
    async send(sender, message, signal) {
      const mail = compose(sender, message);
      if (mail === null) {
        return { kind: 'permanent', code: 'header', response: 'A header holds line breaks or control characters.' };
      }
      if (sender.smtp === null) {
        if (mailbox === null) return { kind: 'no_smtp', code: 'no_smtp', response: 'The brand has no SMTP server.' };
        return { kind: 'sent', response: `kept in the development mailbox as ${await mailbox.keep(mail)}` };
      }
      const sending = pools.send(sender.brandId, sender.smtp, message.urgent ?? false, mail, signal);
      return await sending.then(
        (response): MailOutcome => ({ kind: 'sent', response }),
        (error: unknown) => failureOf(error, sender.smtp),
      );
    },
    close: () => pools.close(),
  };
}

/** A message with all its headers, ready for a server or the mailbox. */
export interface ComposedMail {
  from: { address: string; name: string };
  to: string;
  subject: string;
  html: string;
  text: string;
  messageId: string;
  headers: Record<string, string>;
}

/** Null when a header that is ours to get right holds what would begin another one. */
function compose(sender: MailSender, message: MailMessage): ComposedMail | null {
  const headers: Record<string, string> = {
    'Auto-Submitted': 'auto-generated',
    'Content-Language': message.locale,
    ...message.headers,
  };
  const { address, name } = sender.from;
  const exact = [message.to, address, message.messageId, ...Object.entries(headers).flat()];
  if (!exact.every(isSafeHeader)) return null;
  const subject = fold(message.subject);
  return {
    from: { address, name: fold(message.fromName ?? name) },
    to: message.to,
    // Names and subjects are for people: what would break a header becomes a space.
    subject,
    html: renderLayout(sender, { ...message, subject }),
    text: renderText(sender, message),
    messageId: `<${message.messageId}>`,
    headers,
  };
}
