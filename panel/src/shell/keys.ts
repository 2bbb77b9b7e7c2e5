/**
 * Keys that act anywhere. A shortcut is one key, or two typed one after the other ("g a"). Nothing happens while somebody types
 * in a field, but for keys with Control or Command.
 */

import { useEffect, useRef } from 'react';

interface Binding {
  readonly keys: string;
  readonly act: () => void;
}

const bindings = new Set<Binding>();
let first: { key: string; at: number } | null = null;
/** Between the keys of a pair. */
const PAIR_MS = 1_000;

/** Binds keys while the component is shown: `?`, `g a`, `mod+k`, `Escape`. A later binding of the same keys wins. */
export function useKey(keys: string, act: () => void, enabled = true): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (!enabled) return undefined;
    const binding = { keys, act: () => latest.current() };
    bindings.add(binding);
    return () => {
      bindings.delete(binding);
    };
  }, [keys, enabled]);
}

/** Whether the key before this one may begin a pair: a view with keys of its own leaves this one to the pair. */
export function isSecondOfPair(event: { readonly key: string; readonly timeStamp: number }): boolean {
  if (first === null || event.timeStamp - first.at >= PAIR_MS) return false;
  return bindingOf(`${first.key} ${event.key}`) !== null;
}

/** Keys that are commands. */
const COMMANDS: ReadonlySet<string> = new Set(['Enter', 'Escape', 'Tab', ' ', 'ArrowUp', 'ArrowDown']);

/**
 * Whether a key belongs to an input method that composes text: what ends or steers a composition is no command of the page. Safari
 * tells the last key of one after its end, by its old code alone.
 */
export function isComposing(event: { readonly isComposing: boolean; readonly keyCode: number }): boolean {
  return event.isComposing || event.keyCode === COMPOSED;
}
const COMPOSED = 229;

/** Keeps the keys of a composition from every field, form and dialog. An editor of code has its own root and looks after its own. */
function keepCompositions(event: KeyboardEvent): void {
  if (!isComposing(event) || !COMMANDS.has(event.key)) return;
  if (event.target instanceof HTMLElement && event.target.shadowRoot !== null) return;
  event.stopPropagation();
  // A form would be sent by it.
  if (!event.isComposing) event.preventDefault();
}

/** Listens for as long as the page lives. */
export function listenForKeys(): void {
  document.addEventListener('keydown', keepCompositions, true);
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || isComposing(event)) return;
    const modified = event.ctrlKey || event.metaKey;
    if (event.altKey || (!modified && isTyping(event.target))) return;
    // A dialog keeps its keys to itself.
    if (!modified && document.querySelector('dialog[open]') !== null) return;
    const pressed = modified ? `mod+${event.key.toLowerCase()}` : event.key;
    const pair = first !== null && event.timeStamp - first.at < PAIR_MS ? `${first.key} ${pressed}` : null;
    const found = bindingOf(pair) ?? bindingOf(pressed);
    first = found === null && pressed.length === 1 ? { key: pressed, at: event.timeStamp } : null;
    if (found === null) return;
    event.preventDefault();
    found.act();
  });
}

function bindingOf(keys: string | null): Binding | null {
  return keys === null ? null : ([...bindings].findLast((binding) => binding.keys === keys) ?? null);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.shadowRoot !== null) return true;
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button'].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}
