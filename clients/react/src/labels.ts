/** The words of the bell. */

import type { InboxItem } from './types.ts';

/** Everything that `<Inbox>` says, to people who look and to people who listen. */
export interface InboxLabels {
  /** The name of the bell's button. */
  readonly bell: (unread: number) => string;
  readonly title: string;
  readonly close: string;
  readonly markRead: (item: InboxItem) => string;
  readonly markAllRead: string;
  /** Said of an unread notification to people who listen. */
  readonly unread: string;
  readonly older: string;
  readonly empty: string;
  readonly loading: string;
  readonly failed: string;
  readonly retry: string;
  /** Said when a notification comes. */
  readonly arrived: (item: InboxItem) => string;
  readonly time: (date: Date) => string;
}

export const ENGLISH: InboxLabels = {
  bell: (unread) => (unread === 0 ? 'Notifications' : `Notifications, ${unread} unread`),
  title: 'Notifications',
  close: 'Close',
  markRead: ({ subject }) => `Mark as read: ${subject}`,
  markAllRead: 'Mark all as read',
  unread: 'Unread',
  older: 'Show older',
  empty: 'No notifications.',
  loading: 'Loading…',
  failed: 'Notifications cannot be loaded.',
  retry: 'Try again',
  arrived: ({ subject }) => `New notification: ${subject}`,
  time: (date) => date.toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' }),
};
