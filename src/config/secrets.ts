/** Secrets that stand in a file: DATABASE_URL_FILE names a file with what DATABASE_URL would hold. */

import { KEYS } from './keys.ts';
import type { Key } from './kinds.ts';

const SUFFIX = '_FILE';

/** The variable that names the file of a key; null for a key that is not a secret. */
export function fileVariable({ variable, secret }: Pick<Key<unknown>, 'variable' | 'secret'>): string | null {
  return secret ? variable + SUFFIX : null;
}

/** Those of all secrets. */
export function fileVariables(): string[] {
  return Object.values<Key<unknown>>(KEYS).flatMap((key) => fileVariable(key) ?? []);
}

/** Whether somebody has put the value of a key that is not a secret into a file, which nothing reads. */
export function isUnreadFile(name: string): boolean {
  return Object.values<Key<unknown>>(KEYS).some(({ variable, secret }) => !secret && name === variable + SUFFIX);
}
