/**
 * The mail transport: sends one message by its sender's SMTP server and returns the outcome as a value. Independent of templates and
 * of stored brands (docs/reference/brands.md#smtp).
 */

import { inChild, markFailed, SpanKind } from '../base/tracing.ts';
import { renderLayout, renderText } from './layout.ts';
import { fold, isSafeHeader } from './mail-headers.ts';
import type { Mailbox } from './mailbox.ts';
import type { ComposedMail, MailMessage, MailOutcome, MailSender } from './message.ts';
import { failureOf } from './smtp-failure.ts';
import { type SmtpPoolOptions, SmtpPools } from './smtp-pools.ts';

export type {
  MailFailure,
  MailMessage,
  MailOutcome,
  MailSender,
  OAuth2Account,
  RefreshTurns,
  SmtpServer,
} from './message.ts';
export { TokenFailure } from './token-request.ts';

export interface Mailer {
  /** Never rejects because of the server. `signal` and the time limit cut the connection. */
  send(sender: MailSender, message: MailMessage, signal?: AbortSignal): Promise<MailOutcome>;
  /** Gives messages under way a few seconds, then cuts their connections. */
  close(): Promise<void>;
}

export interface MailerOptions extends SmtpPoolOptions {
  /** Keeps the mail of brands without a server; null in production. */
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
      const { smtp, brandId } = sender;
      const attributes = { 'server.address': smtp.host, 'server.port': smtp.port };
      return await inChild('smtp send', { kind: SpanKind.CLIENT, attributes }, async (span) => {
        const outcome = await pools.send(brandId, smtp, message.urgent ?? false, mail, signal).then(
          (response): MailOutcome => ({ kind: 'sent', response }),
          (error: unknown) => failureOf(error, smtp, pools.tokenOf(brandId, smtp)),
        );
        if (span !== null && outcome.kind !== 'sent') markFailed(span, outcome.kind);
        return outcome;
      });
    },
    close: () => pools.close(),
  };
}

/** Null when an exact header contains a line break or control character, which could begin another header. */
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
    // Names and subjects are display texts: line breaks in them become spaces.
    subject,
    html: renderLayout(sender, { ...message, subject }),
    text: renderText(sender, message),
    messageId: `<${message.messageId}>`,
    headers,
  };
}
