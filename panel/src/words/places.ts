/** The words of each place: a chunk of its own in each language, so that a view brings those that it shows. */

import type { FrameText } from './en.ts';

const en = {
  home: async () => (await import('../places/home/en.ts')).home,
  applications: async () => (await import('../places/applications/en.ts')).applications,
  people: async () => (await import('../places/people/en.ts')).people,
  ask: async () => (await import('../places/ask/en.ts')).ask,
  activity: async () => (await import('../places/activity/en.ts')).activity,
  notifications: async () => (await import('../places/notifications/en.ts')).notifications,
  brands: async () => (await import('../places/brands/en.ts')).brands,
  signIn: async () => (await import('../places/sign-in/en.ts')).signIn,
  settings: async () => (await import('../places/settings/en.ts')).settings,
  mailbox: async () => (await import('../places/mailbox/en.ts')).mailbox,
};

const cs: typeof en = {
  home: async () => (await import('../places/home/cs.ts')).home,
  applications: async () => (await import('../places/applications/cs.ts')).applications,
  people: async () => (await import('../places/people/cs.ts')).people,
  ask: async () => (await import('../places/ask/cs.ts')).ask,
  activity: async () => (await import('../places/activity/cs.ts')).activity,
  notifications: async () => (await import('../places/notifications/cs.ts')).notifications,
  brands: async () => (await import('../places/brands/cs.ts')).brands,
  signIn: async () => (await import('../places/sign-in/cs.ts')).signIn,
  settings: async () => (await import('../places/settings/cs.ts')).settings,
  mailbox: async () => (await import('../places/mailbox/cs.ts')).mailbox,
};

export const PLACE_WORDS = { en, cs };

/** A place by the name of its words. */
export type WordsOf = keyof typeof en;

/** What every language has. A view finds the words of the places that it names in `onDemand`. */
export type Text = FrameText & { readonly [Place in WordsOf]: Awaited<ReturnType<(typeof en)[Place]>> };
