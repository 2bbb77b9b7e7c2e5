/** What the mail transport speaks of: senders, messages, outcomes. */

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
  /** What lists of mails show beside the subject. */
  preheader?: string;
  /** Shown as the last line of the HTML; the header is in `headers`. */
  unsubscribeUrl?: string | null;
  /** Goes by connections of its own: auth mails wait behind no others (docs/reference/notifications.md#retries). */
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
