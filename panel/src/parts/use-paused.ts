import { useEffect, useState } from 'react';

/** The text as it was when typing last paused for so long: what a request is made of that not every key should make. */
export function usePaused<T extends string | null>(text: T, milliseconds: number): T {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), milliseconds);
    return () => clearTimeout(timer);
  }, [text, milliseconds]);
  return paused;
}
