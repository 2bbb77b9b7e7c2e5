/** Internal API keys: what a caller may do without a user's token (docs/reference/callers.md#internal-keys). */

import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import type { Config, Fault } from '../config/config.ts';
import { API_KEY_EXAMPLE } from '../config/examples.ts';
import { keepSecret } from './kept-secret.ts';
import { KEY_SCOPES, type KeyApplications, type KeyEntry, type KeyScope, parseEntries } from './key-entries.ts';

export { KEY_SCOPES, type KeyApplications, type KeyScope } from './key-entries.ts';

/** The key of a call. Only its name, for audit records; the value is kept nowhere. */
export interface KeyHolder {
  readonly name: string;
  /** A caller may ask about these alone: see `refuseOtherApplications`. */
  readonly apps: KeyApplications;
  /** Whether the key still opens what it was shown for, without comparing it again: a reload may have removed it. Counts as a use. */
  readonly stillAdmitted: () => boolean;
}

/** A key as operators see it: never its value. */
export interface KeyRecord extends Pick<KeyHolder, 'name'> {
  readonly scopes: readonly KeyScope[];
  /** Null: all. */
  readonly apps: readonly string[] | null;
}

/** Whether a caller who was admitted would still be; for a key that is narrowed it also throws KEY_SCOPE for a request about another application. */
export type Admission<R = unknown> = (request?: R) => boolean;

/**
 * Throws KEY_SCOPE for a caller whose key is narrowed to applications, unless all of these are among them. None: the request is about
 * all applications.
 */
export function refuseOtherApplications(
  { name, apps }: Pick<KeyHolder, 'name' | 'apps'>,
  asked: readonly string[],
): void {
  if (apps === null || (asked.length > 0 && asked.every((app) => apps.has(app)))) return;
  const own = [...apps].join(', ');
  const message =
    asked.length === 0
      ? `The internal API key ${name} is only for ${own}, and this is about all applications.`
      : `The internal API key ${name} is only for ${own}.`;
  throw new UsherError('KEY_SCOPE', message, { details: { applications: [...apps] } });
}

/** What a reload has changed, by the names of keys. */
export interface KeyChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Another value, other scopes or applications, or another name of the same value. */
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
   * where none is needed) and KEY_SCOPE for a key without `scope`, and for one that is narrowed to applications. Synchronous; its time does
   * not depend on `value`.
   */
  authorize(value: string | undefined, scope: KeyScope): KeyHolder | null;
  /** The same for what may be asked by a narrowed key: call `refuseOtherApplications` once it is known what the call is about. */
  authorizeAny(value: string | undefined, scope: KeyScope): KeyHolder | null;
  /**
   * As `authorize`. Answers whether the caller is still admitted, whenever it is asked. With `about`, which tells the applications of a
   * request, narrowed keys are admitted too, and refused by each request that they may not send.
   */
  admit<R>(value: string | undefined, scope: KeyScope, about?: (request: R) => readonly string[]): Admission<R>;
  /** Whether callers without a key are still admitted to what needs none. */
  readonly stillOpen: () => boolean;
  /**
   * From now on these keys count, of a configuration that `apiKeyFaults` found nothing wrong with, and no others: a caller who was
   * admitted by a key that is gone, or that has lost the scope, is not any more. A key is known by its value.
   */
  replace(config: Pick<Config, 'production' | 'internal'>, localKey: string | null): KeyChanges;
}

/** A key of the configuration, known by its value. */
class Entry implements KeyEntry {
  readonly key: string;
  name: string;
  scopes: ReadonlySet<KeyScope>;
  apps: KeyApplications;
  /** A flag and no time: this stands on the path of every check, and reading the clock would cost more than the rest. */
  used = false;
  readonly #holders = new Map<KeyScope, Holder>();

  constructor({ name, key, scopes, apps }: KeyEntry) {
    this.name = name;
    this.key = key;
    this.scopes = scopes;
    this.apps = apps;
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

  /** Takes the name, the scopes and the applications that the key has now. Returns whether any has changed. */
  become({ name, scopes, apps }: Entry): boolean {
    const isAsWide = isSameSet(apps, this.apps);
    const isSame = isAsWide && name === this.name && isSameSet(scopes, this.scopes);
    this.name = name;
    this.scopes = scopes;
    this.apps = apps;
    for (const [scope, holder] of this.#holders) if (!isAsWide || !this.opens(scope)) this.#end(scope, holder);
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

function isSameSet(one: ReadonlySet<string> | null, other: ReadonlySet<string> | null): boolean {
  if (one === null || other === null) return one === other;
  return one.size === other.size && [...one].every((member) => other.has(member));
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

  get apps(): KeyApplications {
    return this.#entry.apps;
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
const LENGTH_BYTES = 4;
const FILE = 'internal-api-key';

/** The name of the key that a start without configured keys makes for itself. */
const LOCAL_NAME = 'local';

/** Everything that is wrong with `internal.apiKeys`. Entries are named by their position, never by their text. */
export function apiKeyFaults(config: Pick<Config, 'production' | 'internal'>): Fault[] {
  return parseEntries(config.internal.apiKeys, config.production).problems.map((problem) => ({
    key: 'internal.apiKeys',
    variable: 'INTERNAL_API_KEY',
    problem: `${problem}; for example ${API_KEY_EXAMPLE}`,
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

  const authorizeAny = (value: string | undefined, scope: KeyScope): KeyHolder | null => {
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
  const authorize = (value: string | undefined, scope: KeyScope): KeyHolder | null => {
    const holder = authorizeAny(value, scope);
    if (holder !== null) refuseOtherApplications(holder, []);
    return holder;
  };

  return {
    get configured() {
      return configured;
    },
    get records() {
      return entries.map(({ name, scopes, apps }) => ({
        name,
        scopes: [...scopes],
        apps: apps === null ? null : [...apps],
      }));
    },
    takeUsed() {
      const used = [...gone, ...entries].filter((entry) => entry.used);
      gone = [];
      for (const entry of used) entry.used = false;
      return [...new Set(used.map(({ name }) => name))];
    },
    authorize,
    authorizeAny,
    admit(value, scope, about) {
      if (about === undefined) return authorize(value, scope)?.stillAdmitted ?? stillOpen;
      const holder = authorizeAny(value, scope);
      if (holder === null) return stillOpen;
      return holder.apps === null ? holder.stillAdmitted : narrowed(holder, about);
    },
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

/** The admission of a caller whose key is narrowed: each request is looked into. */
function narrowed<R>(holder: KeyHolder, about: (request: R) => readonly string[]): Admission<R> {
  return (request) => {
    if (!holder.stillAdmitted()) return false;
    if (request !== undefined) refuseOtherApplications(holder, about(request));
    return true;
  };
}

function entriesOf(config: Pick<Config, 'production' | 'internal'>, localKey: string | null): Entry[] {
  const { entries, problems } = parseEntries(config.internal.apiKeys, config.production);
  if (problems.length > 0) throw new Error(`internal.apiKeys: ${problems.join('; ')}`);
  const isLocal = entries.length === 0 && localKey !== null;
  return isLocal
    ? [new Entry({ name: LOCAL_NAME, key: localKey, scopes: ALL_SCOPES, apps: null })]
    : entries.map((entry) => new Entry(entry));
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
