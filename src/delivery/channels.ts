/**
 * The channels as values: which lane a delivery queues in, how much of a lane is under way, whom it reaches, what it says. All else
 * iterates over them; how each leaves is in email-channel.ts and push-channel.ts. The names are in base/channels.ts.
 */

import type { ChannelName, TemplateWords } from '../base/channels.ts';

/** An e-mail as it was rendered when its send was accepted; the brand's look is put around it when it leaves. */
export interface EmailContent {
  readonly to: string;
  readonly subject: string;
  readonly html: string;
  readonly text: string;
  /** The language of subject and body. */
  readonly locale: string;
  /** Displayed instead of the brand's sender name; null for the brand's. */
  readonly fromName: string | null;
  /** What its link ends (RFC 8058); null for mail that cannot be switched off. */
  readonly unsubscribe: UnsubscribeTarget | null;
  /** The same, signed already, as rows have it that a process of the version before has stored during an upgrade. */
  readonly unsubscribeUrl?: string | null;
}

/** Whose mail of which type, by number: the link is signed when the mail leaves, so that no row holds one that works. */
export interface UnsubscribeTarget {
  /** Where the service was reached when the mail was accepted, without a trailing slash. */
  readonly base: string;
  readonly person: number;
  readonly type: number;
}

/** What a browser gets (docs/reference/notifications.md#push-messages). */
export interface PushContent {
  readonly title: string;
  readonly body: string;
  readonly icon: string | null;
  readonly url: string | null;
}

/** All that is known of one recipient's notification: its words, by the parts of a template, and whose it is. */
export interface Said extends Readonly<TemplateWords> {
  readonly text: string;
  readonly to: string;
  readonly locale: string;
  readonly icon: string | null;
  readonly fromName: string | null;
  /** Null where the recipient may not switch the type off. */
  readonly unsubscribe: UnsubscribeTarget | null;
}

/** Characters of a push's body, and of an inbox item's: far more than any browser shows, and than fits. */
const MAX_EXCERPT = 4000;

export function excerptOf(text: string): string {
  return text.length <= MAX_EXCERPT ? text : text.slice(0, MAX_EXCERPT).toWellFormed();
}

/** Everything that tells one channel from another before it leaves. */
export interface ChannelKind<Content> {
  /** For the API's documentation: "mail" that "goes" out, "pushes" that "go" out. */
  readonly documented: { readonly noun: string; readonly verb: string };
  /** What the names of its lanes begin with, before the colon. Another version's workers leave lanes alone that they do not know. */
  readonly lanes: string;
  /** The lane of a delivery; null where the statement that stores it finds the lane (persistence/delivery/enqueue.ts). */
  readonly laneOf: (brandId: number | null) => string | null;
  /** Deliveries of one lane: claimed by a worker, and under way at once. */
  readonly perLane: { readonly claimed: number; readonly underWay: number };
  /** Whether it can reach a recipient at all. */
  readonly reaches: (recipient: { readonly subscribed: boolean }) => boolean;
  /** What is stored with a delivery. */
  readonly contentOf: (said: Said) => Content;
}

/** By the brand's mail server: a brand that is slow or broken holds up its own mails. */
const email: ChannelKind<EmailContent> = {
  documented: { noun: 'mail', verb: 'goes' },
  lanes: 'brand',
  laneOf: (brandId) => `brand:${brandId ?? 'default'}`,
  perLane: { claimed: 32, underWay: 6 },
  reaches: () => true,
  contentOf: ({ to, subject, html, text, locale, fromName, unsubscribe }) => ({
    to,
    subject,
    html,
    text,
    locale,
    fromName,
    unsubscribe,
  }),
};

/** To every browser that the person has subscribed when it leaves; queues by the push service of the newest one. */
const push: ChannelKind<PushContent> = {
  documented: { noun: 'pushes', verb: 'go' },
  lanes: 'push',
  laneOf: () => null,
  perLane: { claimed: 96, underWay: 32 },
  reaches: ({ subscribed }) => subscribed,
  contentOf: ({ subject, text, pushTitle, pushBody, icon, url }) => ({
    title: pushTitle ?? subject,
    body: excerptOf(pushBody ?? text),
    icon,
    url,
  }),
};

export const CHANNELS = { email, push } satisfies Record<ChannelName, ChannelKind<unknown>>;

/** What a delivery by that channel says. */
export type ContentOf<Name extends ChannelName> = ReturnType<(typeof CHANNELS)[Name]['contentOf']>;
