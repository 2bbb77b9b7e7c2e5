/** The places of the panel: where they are, and who sees them. */

import type { PanelConfig } from '../session/config.ts';
import type { Text } from '../words/places.ts';
import type { IconName } from './icons.tsx';
import type { Rights } from './rights.ts';

export interface Place {
  readonly id: IconName;
  readonly href: string;
  /** The second key after `g`. */
  readonly key: string;
  readonly visible: (rights: Rights, config: PanelConfig) => boolean;
}

const everybody = (rights: Rights) => rights.any;
const superAdmins = (rights: Rights) => rights.isSuperAdmin;

export const PLACES: readonly Place[] = [
  { id: 'home', href: '/', key: 'h', visible: () => true },
  { id: 'applications', href: '/applications', key: 'a', visible: everybody },
  { id: 'people', href: '/people', key: 'p', visible: everybody },
  { id: 'ask', href: '/ask', key: 'q', visible: () => true },
  { id: 'activity', href: '/activity', key: 't', visible: everybody },
  // Everybody has an inbox.
  { id: 'notifications', href: '/notifications', key: 'n', visible: () => true },
  { id: 'brands', href: '/brands', key: 'b', visible: everybody },
  { id: 'signIn', href: '/sign-in', key: 'i', visible: superAdmins },
  { id: 'settings', href: '/settings', key: 's', visible: () => true },
  // In development alone.
  { id: 'mailbox', href: '/mailbox', key: 'm', visible: (_, { mailbox }) => mailbox },
];

/** The place that an address lies in. */
export function placeAt(path: string): Place | undefined {
  return PLACES.find(({ href }) => isWithin(path, href));
}

/** Whether an address is that of a place, or lies below it. */
export function isWithin(path: string, href: string): boolean {
  return href === '/' ? path === '/' : path === href || path.startsWith(`${href}/`);
}

export function titleOf(place: Place, words: Text): string {
  return words.shell.places[place.id];
}
