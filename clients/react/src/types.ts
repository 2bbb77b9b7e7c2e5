/** What questions and answers look like. */

import type { UsherError } from './errors.ts';

/** What a tiered permission is needed for, or held as; `allowed` is what a binary one is held as. */
export type Level = 'view' | 'edit';

/** One record of the application. */
export interface Resource {
  /** The code of the entity, such as `project`. */
  readonly type: string;
  readonly id: string | number;
}

export interface PermissionOptions {
  /**
   * The record that the question is about. Left out, the question is about the application as a whole. Given as null or
   * undefined, the record is not known yet: the answer is "denied, not known", and nothing is asked.
   */
  readonly resource?: Resource | null | undefined;
  /** The level that is needed. Without one, any level allows. */
  readonly level?: Level | undefined;
}

/** A permission in a list of questions. */
export interface PermissionQuestion extends PermissionOptions {
  readonly permission: string;
}

/** An answer, and until there is one a denial. */
export interface PermissionState {
  /** True only while the service has said so, within `maxStalenessMs`. */
  readonly allowed: boolean;
  /** Whether `allowed` is an answer. False before the first one, and when the last one has become too old. */
  readonly known: boolean;
  /** The level that is held; null for none. */
  readonly level: 'allowed' | Level | null;
  /** Why the last attempt to ask failed; null when it succeeded. */
  readonly error: UsherError | null;
}

/** A notification, as the inbox has it. */
export interface InboxItem {
  readonly id: number;
  readonly appCode: string;
  readonly appName: string;
  /** The code of the notification type. */
  readonly type: string;
  readonly subject: string;
  /** Plain text: never HTML. */
  readonly body: string | null;
  /** A URL, or a path of the application. */
  readonly url: string | null;
  readonly icon: string | null;
  /** ISO 8601; null while it is unread. */
  readonly readAt: string | null;
  readonly createdAt: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** The inbox, as far as it has been read. */
export interface InboxState {
  /** Newest first. */
  readonly items: readonly InboxItem[];
  /** How many are unread, of all applications; null until the service has said. */
  readonly unread: number | null;
  /** Whether the first page is there. */
  readonly known: boolean;
  /** Whether there are older ones. */
  readonly hasMore: boolean;
  /** Whether a page is being read. */
  readonly loading: boolean;
  /** Why the last request failed; null when it succeeded. */
  readonly error: UsherError | null;
  /** The newest one that came while the page was open; null before. */
  readonly arrived: InboxItem | null;
}
