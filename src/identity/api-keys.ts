/** Internal API keys: who may call what without a user's token (docs/reference/callers.md#internal-keys). */

import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import { isSlug } from '../base/grammar.ts';
import type { Config, Fault } from '../config/config.ts';
import { keepSecret } from './kept-secret.ts';

/** `manifest` may do to applications what a SuperAdmin may; `watch` and `facts` are for followers of checks. */
export const KEY_SCOPES = ['check', 'notify', 'profile', 'events', 'metrics', 'manifest', 'watch', 'facts'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** Whose key a call carries. The name is for audit records; the value is nowhere. */
export interface KeyHolder {
  readonly name: string;
}

export interface ApiKeys {
  /** Whether the configuration names a key. False: development on loopback, where checks are open. */
  readonly configured: boolean;
  /**
   * Who calls. `value` is the header or metadata `x-internal-api-key`, undefined when there is none.
   * Null: no key was sent and none is needed. Throws UNAUTHENTICATED for a missing or wrong key (a wrong one even
   * where none is needed) and KEY_SCOPE for a key without `scope`. Synchronous; its time does not depend on `value`.
   */
  authorize(value: string | undefined, scope: KeyScope): KeyHolder | null;
}

interface Entry extends KeyHolder {
  readonly key: string;
  readonly scopes: ReadonlySet<KeyScope>;
}

const ALL_SCOPES: ReadonlySet<KeyScope> = new Set(KEY_SCOPES);
/** What needs no key where none is configured; `/api/internal/*` takes the key in dataDir even then. */
export const OPEN_WITHOUT_KEYS: ReadonlySet<KeyScope> = new Set(['check', 'metrics']);
const PRODUCTION_LENGTH = 24;
const MAX_LENGTH = 1024;
/** What a header carries unchanged through every proxy; a comma would be a second header. */
const CARRIABLE = /^[\x21-\x2b\x2d-\x7e]+$/;
const FILE = 'internal-api-key';

/** The holder of the key that a start without configured ones makes for itself. */
const LOCAL_NAME = 'local';

/** What is wrong with `internal.apiKeys`, all of it. Entries are named by their place, never by their text. */
export function apiKeyFaults(config: Pick<Config, 'production' | 'internal'>): Fault[] {
  return parseEntries(config.internal.apiKeys, config.production).problems.map((problem) => ({
    key: 'internal.apiKeys',
    variable: 'INTERNAL_API_KEY',
    problem: `${problem}; for example billing:check+notify:a-long-random-text`,
  }));
}

/**
 * The keys of a configuration that `apiKeyFaults` found nothing wrong with (throws where it would).
 * `localKey` is what `keepLocalKey` answered; it counts only where no key is configured.
 */
export function createApiKeys(
  config: Pick<Config, 'production' | 'internal'>,
  localKey: string | null = null,
): ApiKeys {
  const { entries, problems } = parseEntries(config.internal.apiKeys, config.production);
  if (problems.length > 0) throw new Error(`internal.apiKeys: ${problems.join('; ')}`);
  const configured = entries.length > 0;
  if (!configured && localKey !== null) entries.push({ name: LOCAL_NAME, key: localKey, scopes: ALL_SCOPES });
  const find = matcher(entries.map((entry) => entry.key));

  return {
    configured,
    authorize(value, scope) {
      if (value === undefined) {
        if (!configured && OPEN_WITHOUT_KEYS.has(scope)) return null;
        throw new UsherError(
          'UNAUTHENTICATED',
          'This call needs an internal API key in the header x-internal-api-key.',
        );
      }
      const entry = entries[find(value)];
      if (entry === undefined) throw new UsherError('UNAUTHENTICATED', 'Unknown internal API key.');
      if (!entry.scopes.has(scope)) {
        throw new UsherError('KEY_SCOPE', `The internal API key ${entry.name} lacks the scope ${scope}.`, {
          details: { scope },
        });
      }
      return entry;
    },
  };
}

/** The key for `/api/internal/*` of a start without configured ones: made once and kept in dataDir (docs/reference/callers.md#internal-keys). */
export function keepLocalKey(dataDir: string, clock: Pick<Clock, 'bytes'>): string {
  return keepSecret({ dataDir, file: FILE, make: () => clock.bytes(32).toString('base64url'), clock });
}

/** `key` (all scopes) or `name:scope+scope:key`. */
function parseEntries(raw: readonly string[], production: boolean): { entries: Entry[]; problems: string[] } {
  const entries: Entry[] = [];
  const problems: string[] = [];
  raw.forEach((text, index) => {
    const place = `entry ${index + 1}`;
    const parts = text.split(':');
    if (parts.length === 2) {
      problems.push(`${place} must be a key, or name:scope+scope:key (a bare key holds no ":")`);
      return;
    }
    const bare = parts.length === 1;
    const name = bare ? `key-${index + 1}` : (parts[0] ?? '');
    const scopes = bare ? [...KEY_SCOPES] : (parts[1] ?? '').split('+');
    const key = bare ? text : parts.slice(2).join(':');
    const wrong = [...nameProblems(name), ...scopeProblems(scopes), ...keyProblems(key, production)];
    if (entries.some((other) => other.name === name)) wrong.push('repeats the name of another');
    if (entries.some((other) => other.key === key)) wrong.push('repeats the key of another');
    problems.push(...wrong.map((problem) => `${place} ${problem}`));
    entries.push({ name, key, scopes: new Set(scopes.filter(isScope)) });
  });
  return { entries, problems };
}

function nameProblems(name: string): string[] {
  return isSlug(name) ? [] : ['must begin with a name of a-z, 0-9, ".", "_" and "-"'];
}

function scopeProblems(scopes: readonly string[]): string[] {
  const problems: string[] = [];
  const known = KEY_SCOPES.join(', ');
  const unknown = scopes.filter((scope) => !isScope(scope));
  // A forgotten name makes the key stand where the scopes belong: do not print what may be one.
  if (unknown.length > 0) problems.push(`has an unknown scope; the scopes are ${known}`);
  if (new Set(scopes).size !== scopes.length) problems.push('has a scope twice');
  return problems;
}

function keyProblems(key: string, production: boolean): string[] {
  if (key === '') return ['has no key'];
  if (!CARRIABLE.test(key)) return ['has a key that is not of printable ASCII without space and comma'];
  if (key.length > MAX_LENGTH) return [`has a key of more than ${MAX_LENGTH} characters`];
  if (production && key.length < PRODUCTION_LENGTH) {
    return [`has a key of fewer than ${PRODUCTION_LENGTH} characters, which production does not take`];
  }
  return [];
}

function isScope(text: string): text is KeyScope {
  return (KEY_SCOPES as readonly string[]).includes(text);
}

/**
 * Finds the index of `value` among `keys`, or -1, reading all of every key whatever the value is.
 * All stand in blocks of one width, so that neither the place of the first difference nor a length shows.
 * Digests would cost 0.6 µs a call and `timingSafeEqual` 0.1 µs a key on the path of every check; this loop has no
 * branch on what it compares.
 */
function matcher(keys: readonly string[]): (value: string) => number {
  // What does not fit is cut off, or left out where it would be half a character; the lengths differ then.
  const words = Math.ceil(Math.max(0, ...keys.map((key) => key.length)) / 4);
  const scratch = Buffer.alloc(words * 4);
  const given = new Int32Array(scratch.buffer, scratch.byteOffset, words);
  const blocks = keys.map((key) => {
    const bytes = new Uint8Array(words * 4);
    bytes.set(Buffer.from(key, 'utf8'));
    return { length: key.length, words: new Int32Array(bytes.buffer) };
  });
  return (value) => {
    given.fill(0);
    scratch.write(value, 0, 'utf8');
    let found = -1;
    for (let index = 0; index < blocks.length; index++) {
      const block = blocks[index] as (typeof blocks)[number];
      let difference = block.length ^ value.length;
      for (let word = 0; word < words; word++) {
        difference |= (block.words[word] as number) ^ (given[word] as number);
      }
      // -1 where nothing differs, else 0: a mask instead of a branch.
      const same = ((difference | -difference) >>> 31) - 1;
      found = (found & ~same) | (index & same);
    }
    given.fill(0);
    return found;
  };
}
