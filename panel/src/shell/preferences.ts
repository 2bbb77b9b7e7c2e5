/** What a person chooses for this browser: language, theme, density. Without storage it lasts as long as the page. */

import { keep, readKept } from '../session/kept.ts';
import { type Language, preferredLanguage } from '../words/words.ts';
import { Store, useStore } from './store.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];
export const DENSITIES = ['comfortable', 'compact'] as const;
export type Density = (typeof DENSITIES)[number];

export interface Preferences {
  readonly language: Language;
  readonly theme: Theme;
  readonly density: Density;
}

const current = new Store<Preferences>({
  language: preferredLanguage(readKept('local', 'language')),
  theme: THEMES.find((theme) => theme === readKept('local', 'theme')) ?? 'system',
  density: DENSITIES.find((density) => density === readKept('local', 'density')) ?? 'comfortable',
});

export function preferences(): Preferences {
  return current.value;
}

export function usePreferences(): Preferences {
  return useStore(current);
}

export function prefer(change: Partial<Preferences>): void {
  for (const [name, value] of Object.entries(change)) keep('local', name, value);
  current.set({ ...current.value, ...change });
  show();
}

/** Sets the attributes that style sheets read. The theme of the system needs none. */
export function show(): void {
  const { dataset } = document.documentElement;
  const { theme, density, language } = current.value;
  if (theme === 'system') delete dataset.theme;
  else dataset.theme = theme;
  dataset.density = density;
  document.documentElement.lang = language;
}
