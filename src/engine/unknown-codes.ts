/**
 * Codes in questions that an application does not define. An application with `strictCodes` refuses such questions: a
 * misspelling must not pass for an answer. All applications count them, and log each once an hour.
 *
 * This runs only where a decision is made from facts. Refused questions leave no decision in the cache, and deleting a code
 * ends the policy's lease with every decision derived from it, so a cached answer needs no second check.
 */

import { UsherError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { PolicyPermission } from './evaluate.ts';
import type { Policy } from './policy.ts';

type UnknownKind = 'permission' | 'resource_type';

/** 400 UNKNOWN_CODE. The engine gives the kind; `at` adds the code's path in the caller's question. */
export class UnknownCode extends UsherError {
  readonly kind: UnknownKind;
  readonly app: string;
  /** The code in question. */
  readonly unknown: string;
  /** The nearest code that the application defines. */
  readonly known: string | null;

  constructor(kind: UnknownKind, app: string, unknown: string, known: string | null, path: string) {
    const what =
      kind === 'permission'
        ? `${app} defines no permission ${unknown}`
        : `the catalog of ${app} has no entity ${unknown}`;
    const hint = known === null ? '' : `; did you mean ${known}?`;
    super('UNKNOWN_CODE', `${path}: ${what}${hint === '' ? '.' : hint}`, { details: { path, known } });
    this.kind = kind;
    this.app = app;
    this.unknown = unknown;
    this.known = known;
  }

  at(path: string): UnknownCode {
    return new UnknownCode(this.kind, this.app, this.unknown, this.known, path);
  }
}

/** The paths of codes in a transport's question. */
export interface CodePaths {
  readonly resourceType: string;
  permission(code: string): string;
}

/** `error` for the caller of a transport: an UnknownCode with the path in their own question, anything else unchanged. */
export function withCallerPath(error: unknown, paths: CodePaths): unknown {
  if (!(error instanceof UnknownCode)) return error;
  return error.at(error.kind === 'permission' ? paths.permission(error.unknown) : paths.resourceType);
}

/** Applications counted separately; further ones, which only thousands of deletions produce, are counted together. */
const MAX_APPS = 10_000;
export const OTHER_APPS = '*';
/** Codes remembered as logged, which also limits the lines per hour. */
const MAX_LOGGED = 1000;
const HOUR_MS = 3_600_000;

/** What this needs of a clock and of a log: the panel, which has neither, decides by the same code. */
interface Monotonic {
  monotonic(): number;
}
interface WarnLog {
  warn(fields: object, message: string): void;
}

interface Counts {
  permission: number;
  resource_type: number;
}

export class UnknownCodes {
  readonly #clock: Monotonic;
  readonly #log: WarnLog;
  /** Only existing applications get in here, so that callers cannot invent labels. */
  readonly #counts = new Map<string, Counts>();
  /** When each code was last logged, oldest first. */
  readonly #logged = new Map<string, number>();
  #silentUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Monotonic, log: WarnLog) {
    this.#clock = clock;
    this.#log = log;
  }

  /** The application's permission of that code. Throws UnknownCode for an unknown one where the application is strict. */
  permission(policy: Policy, code: string): PolicyPermission | undefined {
    const permission = policy.permissions.get(code);
    if (permission === undefined && policy.appId !== null) this.#found('permission', policy, code);
    return permission;
  }

  /** Whether the type is known; '' stands for no type. Throws UnknownCode for one missing from a strict application's catalog. */
  checkType(policy: Policy, resourceType: string): boolean {
    const { resourceTypes } = policy;
    if (resourceType === '' || resourceTypes === null || resourceTypes.has(resourceType)) return true;
    this.#found('resource_type', policy, resourceType);
    return false;
  }

  /** The counts, for a scrape. */
  *counts(): Iterable<{ app: string; kind: UnknownKind; count: number }> {
    for (const [app, counts] of this.#counts) {
      for (const kind of ['permission', 'resource_type'] as const) {
        if (counts[kind] > 0) yield { app, kind, count: counts[kind] };
      }
    }
  }

  #found(kind: UnknownKind, policy: Policy, code: string): void {
    const { app } = policy;
    this.#countsOf(app)[kind]++;
    const isNew = this.#remember(`${app}:${kind}:${code}`);
    if (!isNew && !policy.strictCodes) return;
    const known = nearest(code, (kind === 'permission' ? policy.permissions.keys() : policy.resourceTypes) ?? []);
    if (isNew) this.#log.warn({ app, kind, code, nearest: known }, 'question has an unknown code');
    if (policy.strictCodes) {
      throw new UnknownCode(kind, app, code, known, kind === 'permission' ? 'permission' : 'resourceType');
    }
  }

  #countsOf(app: string): Counts {
    const name = this.#counts.has(app) || this.#counts.size < MAX_APPS ? app : OTHER_APPS;
    const counts = this.#counts.get(name) ?? { permission: 0, resource_type: 0 };
    this.#counts.set(name, counts);
    return counts;
  }

  /** Whether to log the code now. Beyond the limit of an hour, one line stands for the rest. */
  #remember(key: string): boolean {
    const now = this.#clock.monotonic();
    const last = this.#logged.get(key);
    if (last !== undefined && now - last < HOUR_MS) return false;
    for (const [oldest, at] of this.#logged) {
      if (now - at < HOUR_MS) break;
      this.#logged.delete(oldest);
    }
    if (this.#logged.size < MAX_LOGGED) {
      this.#logged.set(key, now);
      return true;
    }
    if (now >= this.#silentUntil) {
      this.#silentUntil = now + HOUR_MS;
      this.#log.warn({ logged: MAX_LOGGED }, 'unknown codes exceed the hourly log limit');
    }
    return false;
  }
}
