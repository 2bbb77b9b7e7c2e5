/** The entries of `internal.apiKeys` (docs/reference/callers.md#internal-keys). */

import { isApplicationCode, isSlug } from '../base/grammar.ts';

/** `manifest` allows everything that a SuperAdmin may do to applications; `facts`, for edges and clients that decide themselves, includes `check` and `watch`. */
export const KEY_SCOPES = ['check', 'notify', 'profile', 'events', 'metrics', 'manifest', 'watch', 'facts'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** The applications of a key (`name:scope@app+app:key`), by code; null: all. */
export type KeyApplications = ReadonlySet<string> | null;

/** A key of the configuration. */
export interface KeyEntry {
  readonly name: string;
  readonly key: string;
  readonly scopes: ReadonlySet<KeyScope>;
  readonly apps: KeyApplications;
}

const PRODUCTION_LENGTH = 24;
const MAX_LENGTH = 1024;
/** The characters that every proxy passes on unchanged; a comma would start a second header. */
const CARRIABLE = /^[\x21-\x2b\x2d-\x7e]+$/;

/** `key` (all scopes), `name:scope+scope:key` or `name:scope+scope@app+app:key`. */
export function parseEntries(raw: readonly string[], production: boolean): { entries: KeyEntry[]; problems: string[] } {
  const entries: KeyEntry[] = [];
  const problems: string[] = [];
  raw.forEach((text, index) => {
    const place = `entry ${index + 1}`;
    const parts = text.split(':');
    if (parts.length === 2) {
      problems.push(`${place} must be a key, or name:scope+scope:key (a key alone must not contain ":")`);
      return;
    }
    const bare = parts.length === 1;
    const name = bare ? `key-${index + 1}` : (parts[0] ?? '');
    const [named = '', ...narrowing] = bare ? [] : (parts[1] ?? '').split('@');
    const scopes = bare ? [...KEY_SCOPES] : named.split('+');
    const apps = narrowing.length === 0 ? null : narrowing.join('@').split('+');
    const key = bare ? text : parts.slice(2).join(':');
    const wrong = [
      ...nameProblems(name),
      ...scopeProblems(scopes),
      ...applicationProblems(apps ?? []),
      ...keyProblems(key, production),
    ];
    if (entries.some((other) => other.name === name)) wrong.push('repeats the name of an earlier entry');
    if (entries.some((other) => other.key === key)) wrong.push('repeats the key of an earlier entry');
    problems.push(...wrong.map((problem) => `${place} ${problem}`));
    entries.push({ name, key, scopes: new Set(scopes.filter(isScope)), apps: apps === null ? null : new Set(apps) });
  });
  return { entries, problems };
}

function nameProblems(name: string): string[] {
  return isSlug(name)
    ? []
    : ['must begin with a name: lower-case letters and digits, with single . _ - between them, at most 64 characters'];
}

function scopeProblems(scopes: readonly string[]): string[] {
  const problems: string[] = [];
  const known = KEY_SCOPES.join(', ');
  const unknown = scopes.filter((scope) => !isScope(scope));
  // Without a name the key stands in the place of the scopes: do not print what may be a key.
  if (unknown.length > 0) problems.push(`has an unknown scope; the scopes are ${known}`);
  if (new Set(scopes).size !== scopes.length) problems.push('has a scope twice');
  return problems;
}

function applicationProblems(apps: readonly string[]): string[] {
  const problems: string[] = [];
  // As with scopes: what stands here may be a part of a key.
  if (!apps.every(isApplicationCode)) problems.push('has something behind @ that is not a list of application codes');
  if (new Set(apps).size !== apps.length) problems.push('has an application twice');
  return problems;
}

function keyProblems(key: string, production: boolean): string[] {
  if (key === '') return ['has no key'];
  if (!CARRIABLE.test(key)) return ['has a key with characters other than printable ASCII, or with a space or comma'];
  if (key.length > MAX_LENGTH) return [`has a key of more than ${MAX_LENGTH} characters`];
  if (production && key.length < PRODUCTION_LENGTH) {
    return [`has a key of fewer than ${PRODUCTION_LENGTH} characters, too short for production`];
  }
  return [];
}

function isScope(text: string): text is KeyScope {
  return (KEY_SCOPES as readonly string[]).includes(text);
}
