/** What was opened last in this browser: applications and people. Kept by the browser alone. */

import { useEffect, useSyncExternalStore } from 'react';
import { keep, readKept } from '../session/kept.ts';

export interface Recent {
  readonly kind: 'applications' | 'people';
  readonly href: string;
  readonly label: string;
}

const NAME = 'recents';
const KEPT = 8;

let recents: readonly Recent[] | null = null;
const listeners = new Set<() => void>();

/** Remembers what is shown; null remembers nothing. */
export function useRecent(recent: Recent | null): void {
  const { kind, href, label } = recent ?? { kind: null, href: '', label: '' };
  useEffect(() => {
    if (kind === null) return;
    recents = withRecent(all(), { kind, href, label });
    keep('local', NAME, JSON.stringify(recents));
    for (const listener of listeners) listener();
  }, [kind, href, label]);
}

/** The last one first. */
export function useRecents(): readonly Recent[] {
  return useSyncExternalStore(subscribe, all);
}

export function withRecent(before: readonly Recent[], recent: Recent): readonly Recent[] {
  return [recent, ...before.filter(({ href }) => href !== recent.href)].slice(0, KEPT);
}

/** What is kept may be of another version, or changed by hand. */
export function recentsOf(kept: string | null): readonly Recent[] {
  if (kept === null) return [];
  try {
    const value: unknown = JSON.parse(kept);
    return Array.isArray(value) ? value.filter(isRecent).slice(0, KEPT) : [];
  } catch {
    return [];
  }
}

function isRecent(value: unknown): value is Recent {
  const { kind, href, label } = (value ?? {}) as Partial<Recent>;
  const isKnown = kind === 'applications' || kind === 'people';
  return isKnown && typeof label === 'string' && typeof href === 'string' && href.startsWith(`/${kind}/`);
}

function all(): readonly Recent[] {
  recents ??= recentsOf(readKept('local', NAME));
  return recents;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
