/**
 * The mail transport: one message by one sender's SMTP server, and what came of it as a value. Knows no templates and no brands
 * beyond what it is handed. (docs/reference/brands.md#smtp; facts/mail: STARTTLS, time limits, what may be sent again.)
 */

import { renderLayout, renderText } from './layout.ts';
import { fold, isSafeHeader } from './mail-headers.ts';
import type { Mailbox } from './mailbox.ts';
import type { ComposedMail, MailMessage, MailOutcome, MailSender } from './message.ts';
import { failureOf } from './smtp-failure.ts';
import { type SmtpPoolOptions, SmtpPools } from './smtp-pools.ts';

export type { MailFailure, MailMessage, MailOutcome, MailSender, SmtpServer } from './message.ts';

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
