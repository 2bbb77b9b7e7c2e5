/** The words and formats of the chosen language. Each language is made of chunks: what every view says, and one for each place. */

import { createContext, useContext } from 'react';
import { type Formats, formatsOf } from './formats.ts';
import { PLACE_WORDS, type Text, type WordsOf } from './places.ts';

export const LANGUAGES = { en: 'English', cs: 'Čeština' } as const;
export type Language = keyof typeof LANGUAGES;

export const WordsContext = createContext<Text | null>(null);

const FRAME = {
  en: async () => (await import('./en.ts')).en,
  cs: async () => (await import('./cs.ts')).cs,
};

/** Each is added to place by place and stays the same object, so that nothing on the screen is drawn anew for it. */
const texts: Readonly<Record<Language, Partial<Text>>> = { en: {}, cs: {} };
const inUse = new Set<Language>();
/** The places that were asked for: another language needs their words too. */
const asked = new Set<WordsOf>();

/** The words of a language, with those of each place that was asked for. */
export async function loadWords(language: Language): Promise<Text> {
  inUse.add(language);
  const frame = FRAME[language]().then((words) => Object.assign(texts[language], words));
  await Promise.all([frame, ...[...asked].map((place) => load(language, place))]);
  return texts[language] as Text;
}

/** Adds the words of these places to each language in use. */
export async function loadPlaceWords(places: readonly WordsOf[]): Promise<void> {
  for (const place of places) asked.add(place);
  await Promise.all([...inUse].flatMap((language) => places.map((place) => load(language, place))));
}

async function load(language: Language, place: WordsOf): Promise<void> {
  Object.assign(texts[language], { [place]: await PLACE_WORDS[language][place]() });
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
  return formatsOf(useWords().locale);
}
