/** Views whose code, and whose words, come when they are first wanted. */

import { type ComponentType, createElement, type FunctionComponent, lazy, useState } from 'react';
import type { WordsOf } from '../words/places.ts';
import { loadPlaceWords } from '../words/words.ts';

export interface OnDemand<P> extends FunctionComponent<P> {
  /** Loads the view before it is drawn: then it is drawn at once, without a placeholder. */
  readonly preload: () => Promise<unknown>;
}

/**
 * A view, the default export of `load`, with the words of these places. Unlike `lazy` alone it suspends only while the code is
 * missing: React shows a placeholder, once it has begun to, for 300 ms.
 */
export function onDemand<P extends object>(
  load: () => Promise<{ default: ComponentType<P> }>,
  ...words: readonly WordsOf[]
): OnDemand<P> {
  let loaded: ComponentType<P> | null = null;
  const preload = async () => {
    const [view] = await Promise.all([load(), loadPlaceWords(words)]);
    loaded = view.default;
    return view;
  };
  const Late = lazy(preload) as unknown as ComponentType<P>;
  const View = (props: P) => {
    // One or the other for as long as it is drawn: another component would lose its state.
    const [shown] = useState(() => loaded ?? Late);
    return createElement(shown, props);
  };
  return Object.assign(View, { preload });
}
