/** The words and formats of the chosen language. Each language is a chunk of its own. */

import { createContext, useContext, useMemo } from 'react';
import type { Text } from './en.ts';
import { type Formats, formatsOf } from './formats.ts';

export const LANGUAGES = { en: 'English', cs: 'Čeština' } as const;
export type Language = keyof typeof LANGUAGES;

export const WordsContext = createContext<Text | null>(null);

export async function loadWords(language: Language): Promise<Text> {
  return language === 'cs' ? (await import('./cs.ts')).cs : (await import('./en.ts')).en;
}

/** The first language of the browser that the panel speaks. */
export function preferredLanguage(kept: string | null): Language {
  for (const wanted of [kept, ...navigator.languages]) {
    const found = wanted?.slice(0, 2);
    if (found === 'en' || found === 'cs') return found;
  }
  return 'en';
}

export function useWords(): Text {
  const words = useContext(WordsContext);
  if (words === null) throw new Error('useWords outside of WordsContext');
  return words;
}

export function useFormats(): Formats {
  const { locale } = useWords();
  return useMemo(() => formatsOf(locale), [locale]);
}
