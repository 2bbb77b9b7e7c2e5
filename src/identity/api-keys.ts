/** Internal API keys: what a caller may do without a user's token (docs/reference/callers.md#internal-keys). */

import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import { isSlug } from '../base/grammar.ts';
import type { Config, Fault } from '../config/config.ts';
import { keepSecret } from './kept-secret.ts';

/** `manifest` allows everything that a SuperAdmin may do to applications; `facts`, for edges and clients that decide themselves, includes `check` and `watch`. */
export const KEY_SCOPES = ['check', 'notify', 'profile', 'events', 'metrics', 'manifest', 'watch', 'facts'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** The key of a call. Only its name, for audit records; the value is kept nowhere. */
export interface KeyHolder {
  readonly name: string;
  /** Whether the key still opens what it was shown for, without comparing it again: a reload may have removed it. Counts as a use. */
  readonly stillAdmitted: () => boolean;
}

/** A key as operators see it: never its value. */
export interface KeyRecord extends Pick<KeyHolder, 'name'> {
  readonly scopes: readonly KeyScope[];
}

/** What a reload has changed, by the names of keys. */
export interface KeyChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Another value, other scopes, or another name of the same value. */
  readonly changed: readonly string[];
}

export interface ApiKeys {
  /** Every key, in the order of the configuration; without one, the key that the start made for itself. */
  readonly records: readonly KeyRecord[];
  /** The names of the keys that were used since the last call. */
  takeUsed(): string[];
  /** Whether the configuration names a key. False: development on loopback, where checks are open. */
  readonly configured: boolean;
  /**
   * The caller. `value` is the header or metadata `x-internal-api-key`, undefined when absent.
   * Null: no key was sent and none is needed. Throws UNAUTHENTICATED for a missing or wrong key (a wrong one even
   * where none is needed) and KEY_SCOPE for a key without `scope`. Synchronous; its time does not depend on `value`.
   */
  authorize(value: string | undefined, scope: KeyScope): KeyHolder | null;
  /** As `authorize`. Answers whether the caller is still admitted, whenever it is asked. */
  admit(value: string | undefined, scope: KeyScope): () => boolean;
  /** Whether callers without a key are still admitted to what needs none. */
  readonly stillOpen: () => boolean;
  /**
   * From now on these keys count, of a configuration that `apiKeyFaults` found nothing wrong with, and no others: a caller who was
   * admitted by a key that is gone, or that has lost the scope, is not any more. A key is known by its value.
   */
  replace(config: Pick<Config, 'production' | 'internal'>, localKey: string | null): KeyChanges;
}

/** A key of the configuration, known by its value. */
class Entry {
  readonly key: string;
  name: string;
  scopes: ReadonlySet<KeyScope>;
  /** A flag and no time: this stands on the path of every check, and reading the clock would cost more than the rest. */
  used = false;
  readonly #holders = new Map<KeyScope, Holder>();

  constructor(name: string, key: string, scopes: ReadonlySet<KeyScope>) {
    this.name = name;
    this.key = key;
    this.scopes = scopes;
  }

  opens(scope: KeyScope): boolean {
    return this.scopes.has(scope) || (this.scopes.has('facts') && IN_FACTS.has(scope));
  }

  /** One a scope, however many callers there are. */
  holder(scope: KeyScope): Holder {
    const known = this.#holders.get(scope);
    if (known !== undefined) return known;
    const holder = new Holder(this);
    this.#holders.set(scope, holder);
    return holder;
  }

  /** Takes the name and the scopes that the key has now. Returns whether either has changed. */
  become({ name, scopes }: Entry): boolean {
    const isSame =
      name === this.name && scopes.size === this.scopes.size && [...scopes].every((one) => this.scopes.has(one));
    this.name = name;
    this.scopes = scopes;
    for (const [scope, holder] of this.#holders) if (!this.opens(scope)) this.#end(scope, holder);
    return !isSame;
  }

  /** The key is gone. */
  end(): void {
    for (const [scope, holder] of this.#holders) this.#end(scope, holder);
  }

  /** For good: were the scope given back, its callers are admitted anew. */
  #end(scope: KeyScope, holder: Holder): void {
    holder.isOver = true;
    this.#holders.delete(scope);
  }
}

/** Those who were admitted to a scope by a key. */
class Holder implements KeyHolder {
  readonly #entry: Entry;
  isOver = false;

  constructor(entry: Entry) {
    this.#entry = entry;
  }

  get name(): string {
    return this.#entry.name;
  }

  readonly stillAdmitted = (): boolean => {
    if (this.isOver) return false;
    this.#entry.used = true;
    return true;
  };
}

const ALL_SCOPES: ReadonlySet<KeyScope> = new Set(KEY_SCOPES);
/** What follows from facts may be asked by those who may read them. */
const IN_FACTS: ReadonlySet<KeyScope> = new Set(['check', 'watch']);
/** The scopes that need no key where none is configured; `/api/internal/*` needs the key in dataDir even then. */
export const OPEN_WITHOUT_KEYS: ReadonlySet<KeyScope> = new Set(['check', 'metrics']);
const PRODUCTION_LENGTH = 24;
const MAX_LENGTH = 1024;
const LENGTH_BYTES = 4;
/** The characters that every proxy passes on unchanged; a comma would start a second header. */
const CARRIABLE = /^[\x21-\x2b\x2d-\x7e]+$/;
const FILE = 'internal-api-key';

/** The name of the key that a start without configured keys makes for itself. */
const LOCAL_NAME = 'local';

/** Everything that is wrong with `internal.apiKeys`. Entries are named by their position, never by their text. */
export function apiKeyFaults(config: Pick<Config, 'production' | 'internal'>): Fault[] {
  return parseEntries(config.internal.apiKeys, config.production).problems.map((problem) => ({
    key: 'internal.apiKeys',
    variable: 'INTERNAL_API_KEY',
    problem: `${problem}; for example billing:check+notify:a-long-random-text`,
  }));
}

/**
 * The keys of a configuration that `apiKeyFaults` found nothing wrong with (throws where it would).
 * `localKey` is the result of `keepLocalKey`; it counts only where no key is configured.
 */
export function createApiKeys(
  config: Pick<Config, 'production' | 'internal'>,
  localKey: string | null = null,
): ApiKeys {
  let configured = config.internal.apiKeys.length > 0;
  let entries = entriesOf(config, localKey);
  let find = matcher(entries.map((entry) => entry.key));
  /** Used before a reload took them away. */
  let gone: Entry[] = [];
  const stillOpen = (): boolean => !configured;

  const authorize = (value: string | undefined, scope: KeyScope): KeyHolder | null => {
    if (value === undefined) {
      if (!configured && OPEN_WITHOUT_KEYS.has(scope)) return null;
      throw new UsherError('UNAUTHENTICATED', 'This call needs an internal API key in the header x-internal-api-key.');
    }
    const entry = entries[find(value)];
    if (entry === undefined) throw new UsherError('UNAUTHENTICATED', 'Unknown internal API key.');
    if (!entry.opens(scope)) {
      throw new UsherError('KEY_SCOPE', `The internal API key ${entry.name} lacks the scope ${scope}.`, {
        details: { scope },
      });
    }
    entry.used = true;
    return entry.holder(scope);
  };

  return {
    get configured() {
      return configured;
    },
    get records() {
      return entries.map(({ name, scopes }) => ({ name, scopes: [...scopes] }));
    },
    takeUsed() {
      const used = [...gone, ...entries].filter((entry) => entry.used);
      gone = [];
      for (const entry of used) entry.used = false;
      return [...new Set(used.map(({ name }) => name))];
    },
    authorize,
    admit: (value, scope) => authorize(value, scope)?.stillAdmitted ?? stillOpen,
    stillOpen,
    replace(next, nextLocalKey) {
      const { kept, ended, changes } = merge(entries, entriesOf(next, nextLocalKey));
      entries = kept;
      gone.push(...ended.filter(({ used }) => used));
      find = matcher(kept.map((entry) => entry.key));
      configured = next.internal.apiKeys.length > 0;
      return changes;
    },
  };
}

function entriesOf(config: Pick<Config, 'production' | 'internal'>, localKey: string | null): Entry[] {
  const { entries, problems } = parseEntries(config.internal.apiKeys, config.production);
  if (problems.length > 0) throw new Error(`internal.apiKeys: ${problems.join('; ')}`);
  const isLocal = entries.length === 0 && localKey !== null;
  return isLocal ? [new Entry(LOCAL_NAME, localKey, ALL_SCOPES)] : entries;
}

/** The next keys, with those of before where the value is the same: their callers are not disturbed. */
function merge(
  before: readonly Entry[],
  next: readonly Entry[],
): { kept: Entry[]; ended: Entry[]; changes: KeyChanges } {
  const names = new Set(before.map(({ name }) => name));
  const byKey = new Map(before.map((entry) => [entry.key, entry]));
  const added: string[] = [];
  const changed: string[] = [];
  const kept = next.map((entry) => {
    const known = byKey.get(entry.key);
    if (known === undefined) {
      (names.has(entry.name) ? changed : added).push(entry.name);
      return entry;
    }
    byKey.delete(entry.key);
    if (known.become(entry)) changed.push(entry.name);
    return known;
  });
  const ended = [...byKey.values()];
  for (const entry of ended) entry.end();
  const still = new Set(kept.map(({ name }) => name));
  const removed = [...names].filter((name) => !still.has(name));
  return { kept, ended, changes: { added, removed, changed } };
}

/** The key for `/api/internal/*` of a start without configured keys: made once and kept in dataDir (docs/reference/callers.md#internal-keys). */
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
      problems.push(`${place} must be a key, or name:scope+scope:key (a key alone must not contain ":")`);
      return;
    }
    const bare = parts.length === 1;
    const name = bare ? `key-${index + 1}` : (parts[0] ?? '');
    const scopes = bare ? [...KEY_SCOPES] : (parts[1] ?? '').split('+');
    const key = bare ? text : parts.slice(2).join(':');
    const wrong = [...nameProblems(name), ...scopeProblems(scopes), ...keyProblems(key, production)];
    if (entries.some((other) => other.name === name)) wrong.push('repeats the name of an earlier entry');
    if (entries.some((other) => other.key === key)) wrong.push('repeats the key of an earlier entry');
    problems.push(...wrong.map((problem) => `${place} ${problem}`));
    entries.push(new Entry(name, key, new Set(scopes.filter(isScope))));
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

/**
 * Finds the index of `value` among `keys`, or -1, reading all of every key regardless of the value. All stand in blocks of one
 * width that begin with the length, so that the time reveals neither the first difference nor a length. Digests of one length
 * would do the same, and cost four to nine times as much on the path of every check.
 */
function matcher(keys: readonly string[]): (value: string) => number {
  const width = LENGTH_BYTES + Math.max(0, ...keys.map((key) => key.length));
  // A longer value is cut off; its length differs then.
  const fill = (block: Buffer, text: string): Buffer => {
    block.fill(0);
    block.writeUInt32LE(text.length);
    block.write(text, LENGTH_BYTES, 'utf8');
    return block;
  };
  const blocks = keys.map((key) => fill(Buffer.alloc(width), key));
  const given = Buffer.alloc(width);
  return (value) => {
    fill(given, value);
    let found = -1;
    for (const [index, block] of blocks.entries()) if (timingSafeEqual(block, given)) found = index;
    given.fill(0);
    return found;
  };
}
