/** The types of the mail transport: senders, messages, outcomes. */

/** An SMTP server and its connection settings. */
export interface SmtpServer {
  host: string;
  port: number;
  /** Implicit TLS (port 465); otherwise STARTTLS. */
  secure: boolean;
  /** Requires neither TLS nor a valid certificate. Loopback hosts never need either. */
  allowInsecure: boolean;
  /** Without a user, or without a password and an OAuth 2.0 account, there is no authentication. */
  user: string | null;
  password: string | null;
  /** Access tokens in place of a password. */
  oauth2: OAuth2Account | null;
}

/** An account at a token endpoint (RFC 6749). */
export interface OAuth2Account {
  tokenUrl: string;
  clientId: string;
  /** Null for a public client, which has a refresh token. */
  clientSecret: string | null;
  /** Null sends none. */
  scope: string | null;
  /** As an administrator set it; null: client credentials. */
  refreshToken: string | null;
}

/** Whose turn it is to use a sender's refresh token: a token endpoint may give another one each time, and take the old one for stolen. */
export interface RefreshTurns {
  /**
   * Waits until nobody else uses it, runs `work` with the one that was given last, and keeps `next`, if there is one, before it resolves.
   * Rejects as `work` does, and with TokenFailure when the turn does not come.
   */
  use<T>(
    sender: number,
    account: OAuth2Account & { refreshToken: string },
    work: (refreshToken: string) => Promise<{ answer: T; next: string | null }>,
  ): Promise<T>;
}

/** The brand that sends a mail. */
export interface MailSender {
  brandId: number;
  slug: string;
  name: string;
  from: { address: string; name: string };
  look: {
    /** `#rrggbb`; null for the default color. */
    primaryColor: string | null;
    backgroundColor: string | null;
    logoUrl: string | null;
    footerText: string | null;
  };
  /** Null for a brand without a server, which cannot send. */
  smtp: SmtpServer | null;
}

export interface MailMessage {
  /** One address in normal form. */
  to: string;
  subject: string;
  /** A fragment of HTML; the layout of the sender is added around it. */
  html: string;
  text: string;
  /** Sets `lang` and `dir`. */
  locale: string;
  /** `ID@HOST`, without angle brackets; the same for all retries. */
  messageId: string;
  /** Overrides the display name of the sender. */
  fromName: string | null;
  headers?: Readonly<Record<string, string>>;
  /** A button below the fragment, and a line in the text. */
  button?: { text: string; url: string };
  /** The preview text that mail clients list beside the subject. */
  preheader?: string;
  /** The link in the footer of the HTML; the header is in `headers`. */
  unsubscribeUrl?: string | null;
  /** Uses connections of its own, so that auth mails never wait for others (docs/reference/notifications.md#retries). */
  urgent?: boolean;
}

/**
 * The outcome of a message. `transient`: a retry may succeed. `permanent`: no retry of this message can succeed; `words` is what the
 * server said of it, hashed, without addresses. `auth`: the server rejects the sender's credentials. `account`: it refuses the sender
 * or the connection, for any recipient. `unknown`: the connection was lost when the server may have accepted the message; retry with the
 * same Message-ID. `no_smtp`: the brand has no server. `code` is a reply code (`550`) or the connection's error code
 * (`ECONNREFUSED`). `response` is the server's reply without credentials, at most 500 characters.
 */
export type MailOutcome =
  | { kind: 'sent'; response: string }
  | { kind: MailFailure; code: string; response: string; words?: string };
export type MailFailure = 'transient' | 'permanent' | 'auth' | 'account' | 'unknown' | 'no_smtp';

/** A complete message for a server or the mailbox. */
export interface ComposedMail {
  from: { address: string; name: string };
  to: string;
  subject: string;
  html: string;
  text: string;
  messageId: string;
  headers: Record<string, string>;
}
