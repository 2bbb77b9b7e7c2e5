/** What a running service takes of a configuration that has changed (docs/guides/reload-and-tls.md). */

import { isDeepStrictEqual } from 'node:util';
import { keysOf } from '../base/own-keys.ts';
import { type Checked, type ConfigCheck, checked, checkValues } from './config.ts';
import { KEYS } from './keys.ts';
import type { Key } from './kinds.ts';
import type { ConfigKey, RawConfig, Values } from './resolve.ts';

export interface Reloaded {
  /** What a start would take. */
  readonly given: Checked;
  /** What is in force after the reload: the next values of the keys that can be taken, those of before of all others. */
  readonly next: Checked;
  /** The keys whose values were taken and are other ones. */
  readonly changed: readonly ConfigKey[];
  /** The keys whose values are other ones and count from the next start. */
  readonly restart: readonly ConfigKey[];
}

/**
 * Checks the whole configuration, as a start would, and then what would be in force: a value that goes with others which need a
 * restart may not go with those that run. Throws ConfigError.
 */
export function reloadConfig(running: Checked, raw: RawConfig, checks: readonly ConfigCheck[]): Reloaded {
  const given = checked(raw, checks);
  const different = keysOf(KEYS).filter((key) => !isDeepStrictEqual(running.values[key], given.values[key]));
  const changed = different.filter((key) => isTaken(key, running.values, given.values));
  // A default that follows another key is not listed beside it.
  const isGiven = (key: ConfigKey): boolean => running.sources.has(key) || given.sources.has(key);
  const restart = different.filter((key) => !changed.includes(key) && isGiven(key));
  const sources = new Map(running.sources);
  const variables = new Map(running.variables);
  for (const key of takenKeys(running.values, given.values)) {
    const source = given.sources.get(key);
    if (source === undefined) sources.delete(key);
    else sources.set(key, source);
    variables.set(key, given.variables.get(key) ?? KEYS[key].variable);
  }
  // A key keeps its type: its value comes from a table of the same keys.
  const taken = Object.fromEntries(changed.map((key) => [key, given.values[key]])) as Partial<Values>;
  const values = { ...running.values, ...taken };
  const production = raw.env.NODE_ENV === 'production';
  const next = checkValues({ values, sources, variables, faults: [] }, production, checks);
  return { given, next, changed, restart };
}

function takenKeys(before: Values, next: Values): ConfigKey[] {
  return keysOf(KEYS).filter((key) => isTaken(key, before, next));
}

/** A listener that speaks TLS can take another certificate; it cannot begin or cease to, nor to ask clients for theirs. */
function isTaken(key: ConfigKey, before: Values, next: Values): boolean {
  const { reload }: Key<unknown> = KEYS[key];
  if (reload === 'path') return (before[key] === null) === (next[key] === null);
  return reload === 'value';
}
