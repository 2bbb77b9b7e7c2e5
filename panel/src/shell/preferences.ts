/** What a person chooses for this browser: language, theme, density. Without storage it lasts as long as the page. */

import { useSyncExternalStore } from 'react';
import { keep, readKept } from '../session/kept.ts';
import { type Language, preferredLanguage } from '../words/words.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];
export const DENSITIES = ['comfortable', 'compact'] as const;
export type Density = (typeof DENSITIES)[number];

export interface Preferences {
  readonly language: Language;
  readonly theme: Theme;
  readonly density: Density;
}

let current: Preferences = {
  language: preferredLanguage(readKept('local', 'language')),
  theme: THEMES.find((theme) => theme === readKept('local', 'theme')) ?? 'system',
  density: DENSITIES.find((density) => density === readKept('local', 'density')) ?? 'comfortable',
};
const listeners = new Set<() => void>();

export function preferences(): Preferences {
  return current;
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, preferences);
}

export function prefer(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  for (const [name, value] of Object.entries(change)) keep('local', name, value);
  show();
  for (const listener of listeners) listener();
}

/** Sets the attributes that style sheets read. The theme of the system needs none. */
export function show(): void {
  const { dataset } = document.documentElement;
  if (current.theme === 'system') delete dataset.theme;
  else dataset.theme = current.theme;
  dataset.density = current.density;
  document.documentElement.lang = current.language;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
