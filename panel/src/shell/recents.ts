/**
 * What somebody opened last in this browser: applications and people. Kept by the browser alone, for them alone, until they sign
 * out.
 */

import { useEffect, useSyncExternalStore } from 'react';
import { keep, readKept } from '../session/kept.ts';
import { onPersonChanged } from '../session/person.ts';
import { session } from '../session/session.ts';

interface Recent {
  readonly kind: 'applications' | 'people';
  readonly href: string;
  readonly label: string;
}

const KEPT = 8;

let read: { readonly of: string; readonly recents: readonly Recent[] } | null = null;
const listeners = new Set<() => void>();

/** Remembers what is shown; null remembers nothing. */
export function useRecent(recent: Recent | null): void {
  const { kind, href, label } = recent ?? { kind: null, href: '', label: '' };
  useEffect(() => {
    if (kind === null) return;
    remember({ kind, href, label });
  }, [kind, href, label]);
}

export function remember(recent: Recent): void {
  read = { of: session.person ?? '', recents: withRecent(recents(), recent) };
  keep('local', nameOf(read.of), JSON.stringify(read.recents));
  for (const listener of listeners) listener();
}

onPersonChanged((before) => {
  keep('local', nameOf(before), null);
  read = null;
});

function nameOf(person: string): string {
  return `recents.${person}`;
}

/** The last one first. */
export function useRecents(): readonly Recent[] {
  return useSyncExternalStore(subscribe, recents);
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

/** Of the signed-in person. */
export function recents(): readonly Recent[] {
  const of = session.person ?? '';
  if (read?.of !== of) read = { of, recents: recentsOf(readKept('local', nameOf(of))) };
  return read.recents;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
