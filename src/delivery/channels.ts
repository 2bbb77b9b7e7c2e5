/**
 * The channels as values: the lane of a delivery, the limits of a lane, the recipients it reaches, the content it stores. Other code
 * iterates over them. email-channel.ts and push-channel.ts send; base/channels.ts has the names.
 */

import type { ChannelName, TemplateWords } from '../base/channels.ts';

/** An e-mail, rendered when its send was accepted; the brand's layout is added when it is sent. */
export interface EmailContent {
  readonly to: string;
  readonly subject: string;
  readonly html: string;
  readonly text: string;
  /** The language of subject and body. */
  readonly locale: string;
  /** Replaces the display name of the brand's sender; null keeps it. */
  readonly fromName: string | null;
  /** The target of the unsubscribe link (RFC 8058); null for mail that users cannot switch off. */
  readonly unsubscribe: UnsubscribeTarget | null;
  /** The signed link, in rows that a process of the previous version stored during an upgrade. */
  readonly unsubscribeUrl?: string | null;
}

/** What is stored with every delivery beside what it says. */
export interface Caused {
  /** Of the send, where its trace is sampled (W3C Trace Context). */
  readonly traceparent?: string | undefined;
}

/** A person and a notification type, by id. The link is signed when the mail is sent, so that no row holds a valid link. */
export interface UnsubscribeTarget {
  /** The public URL of the service when the send was accepted, without a trailing slash. */
  readonly base: string;
  readonly person: number;
  readonly type: number;
}

/** The payload of a push (docs/reference/notifications.md#push-messages). */
export interface PushContent {
  readonly title: string;
  readonly body: string;
  readonly icon: string | null;
  readonly url: string | null;
}

/** One recipient's notification: its rendered parts, its address and its language. */
export interface RecipientContent extends Readonly<TemplateWords> {
  readonly text: string;
  readonly to: string;
  readonly locale: string;
  readonly icon: string | null;
  readonly fromName: string | null;
  /** Null for a type that users cannot switch off. */
  readonly unsubscribe: UnsubscribeTarget | null;
}

/** The longest body of a push and of an inbox item; no browser displays as much. */
const MAX_EXCERPT = 4000;

export function excerptOf(text: string): string {
  return text.length <= MAX_EXCERPT ? text : text.slice(0, MAX_EXCERPT).toWellFormed();
}

/** Everything that differs between channels before sending. */
export interface ChannelKind<Content> {
  /** Words for the API's documentation: "mail goes out", "pushes go out". */
  readonly documented: { readonly noun: string; readonly verb: string };
  /** The prefix of its lanes' names, before the colon. Workers skip lanes with a prefix that their version does not know. */
  readonly lanes: string;
  /** The lane of a delivery; null when the insert statement finds the lane (persistence/delivery/enqueue.ts). */
  readonly laneOf: (brandId: number | null) => string | null;
  /** The most deliveries of one lane that a worker claims, and attempts at once. */
  readonly perLane: { readonly claimed: number; readonly underWay: number };
  /** Whether the channel can reach a recipient. */
  readonly reaches: (recipient: { readonly subscribed: boolean }) => boolean;
  /** The content stored with a delivery. */
  readonly contentOf: (content: RecipientContent) => Content;
}

/** One lane for each brand: a slow or broken mail server delays its own brand only. */
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

/** To every browser that is subscribed at the time of sending. The lane is the push service of the newest subscription. */
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

/** The content of a delivery by that channel. */
export type ContentOf<Name extends ChannelName> = ReturnType<(typeof CHANNELS)[Name]['contentOf']>;
