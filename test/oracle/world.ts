/**
 * A world that can be replayed: random policy writes that fit the rows as they are, and the rows at every revision.
 *
 * For a suite that drives a real service: make a `History`, and for each write choose `randomOperation(random, history.newest,
 * NAMES)`, carry it out through the service, then `history.record(revision, operation)` with the revision that its
 * answer named. Writers may run at once if they choose operations that fit whatever the others do, and record in any order.
 * Each answer of the service is then compared with `answerOf(history.at(revision), question)` of oracle.ts.
 */
import { type AccessLevel, applyTo, NO_ROWS, type Operation, type Rows, type Window } from './rows.ts';

/** A whole number from 0 to n - 1. */
export type Random = (n: number) => number;

/** Jest looks a global name up through the context of the file, which cost a sixth of a long run. */
const { imul } = Math;

/** A small generator with a seed, so that every failure can be run again. */
export function seeded(seed: number): Random {
  let state = seed | 0;
  return (n) => {
    state = (imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    const mixed = imul(state ^ (state >>> 12), 0x297a2d39);
    return ((mixed ^ (mixed >>> 15)) >>> 0) % n;
  };
}

export function pick<T>(random: Random, from: readonly T[]): T {
  const chosen = from[random(from.length)];
  if (chosen === undefined) throw new Error('nothing to pick from');
  return chosen;
}

export function some<T>(random: Random, from: readonly T[]): T[] {
  return from.filter(() => random(2) === 0);
}

export interface Names {
  emails: readonly string[];
  apps: readonly string[];
  permissions: readonly string[];
  roles: readonly string[];
  resources: readonly { resourceType: string; resourceId: string }[];
  /** One in this many writes to an application deletes it; 14 by default. */
  writesOfAnApp?: number;
  /** Applications also become strict, with entities in their catalogs, and cease to be. */
  strict?: boolean;
  /** The beginning and the end of the next grant; without it none has any. */
  window?: () => Window;
}

/**
 * Few enough that questions meet what was written, with names that plain objects would choke on, and codes that would make two
 * questions one if a key joined them by `:` alone.
 */
export const NAMES: Names = {
  emails: ['ada@example.com', 'bob@example.com', 'constructor@example.com'],
  apps: ['billing', 'constructor'],
  permissions: ['invoices/read', 'constructor', 'toString', 'toString:invoice'],
  roles: ['reader', 'valueOf', 'billing:Writer'],
  resources: [
    { resourceType: 'invoice', resourceId: '1' },
    { resourceType: 'invoice', resourceId: 'invoice:1' },
    { resourceType: 'constructor', resourceId: '__proto__' },
  ],
};

/** A write that fits the rows: applications there are deleted, those that are not are made, and so on. */
export function randomOperation(random: Random, rows: Rows, names: Names): Operation {
  const email = pick(random, names.emails);
  const app = pick(random, names.apps);
  if (random(7) === 0) return { kind: 'user', email, active: random(3) > 0 };
  if (random(9) === 0) return { kind: 'superadmin', email, is: random(3) === 0 };
  if (!rows.applications.some((row) => row.app === app)) return { kind: 'create-app', app };
  if (random(names.writesOfAnApp ?? 14) === 0) return { kind: 'delete-app', app };
  return random(3) === 0
    ? operationOnCatalog(random, rows, names, app)
    : operationOnUser(random, rows, names, app, email);
}

function operationOnUser(random: Random, rows: Rows, names: Names, app: string, email: string): Operation {
  const permissions = rows.permissions.filter((row) => row.app === app);
  const roles = rows.roles.filter((row) => row.app === app).map(({ role }) => role);
  const { window } = names;
  switch (random(3)) {
    case 0: {
      const is = random(3) === 0;
      return { kind: 'app-admin', app, email, is, ...(is && window !== undefined ? { window: window() } : {}) };
    }
    case 1: {
      const held = some(random, roles);
      const windows = window === undefined ? {} : { windows: held.map(() => window()) };
      return { kind: 'roles-of-user', app, email, roles: held, ...windows };
    }
    default: {
      const overrides = some(random, permissions).map(({ permission, type }) => {
        const granted = random(2) === 0;
        return { permission, granted, accessLevel: granted ? levelFor(random, type) : null, ...window?.() };
      });
      return { kind: 'overrides-of-user', app, email, ...pick(random, names.resources), overrides };
    }
  }
}

function operationOnCatalog(random: Random, rows: Rows, names: Names, app: string): Operation {
  const permissions = rows.permissions.filter((row) => row.app === app);
  const permission = pick(random, names.permissions);
  const role = pick(random, names.roles);
  if (!permissions.some((row) => row.permission === permission)) {
    const type = random(2) === 0 ? 'binary' : 'tiered';
    const groupName = pick(random, [null, 'Zebra', 'apple', 'Äther']);
    return { kind: 'define-permission', app, permission, type, global: random(3) === 0, groupName };
  }
  if (!rows.roles.some((row) => row.app === app && row.role === role)) return { kind: 'define-role', app, role };
  switch (random(names.strict ? 11 : 8)) {
    case 10:
      return { kind: 'set-strict', app, strict: random(2) === 0 };
    case 9:
    case 8:
      return operationOnEntity(random, rows, names, app);
    case 0:
      return { kind: 'delete-permission', app, permission };
    case 1:
      return { kind: 'delete-role', app, role };
    case 2:
      return { kind: 'set-global', app, permission, global: random(2) === 0 };
    default: {
      const held = some(random, permissions).map((row) => {
        return { permission: row.permission, accessLevel: levelFor(random, row.type) };
      });
      return { kind: 'permissions-of-role', app, role, permissions: held };
    }
  }
}

function operationOnEntity(random: Random, rows: Rows, names: Names, app: string): Operation {
  const { resourceType: entity } = pick(random, names.resources);
  const isThere = rows.entities.some((row) => row.app === app && row.entity === entity);
  return { kind: isThere ? 'delete-entity' : 'define-entity', app, entity };
}

function levelFor(random: Random, type: 'binary' | 'tiered'): AccessLevel {
  if (type === 'binary') return 'allowed';
  return random(2) === 0 ? 'view' : 'edit';
}

/** The rows at every revision from the first one, told in any order. */
export class History {
  readonly #rows: Rows[];
  #first: number;
  readonly #early = new Map<number, readonly Operation[]>();

  /** `rows` are those at revision `first`. */
  constructor(first = 0, rows: Rows = NO_ROWS) {
    this.#first = first;
    this.#rows = [rows];
  }

  /** The oldest revision that is remembered. */
  get first(): number {
    return this.#first;
  }

  /** The newest revision up to which nothing is missing. */
  get head(): number {
    return this.#first + this.#rows.length - 1;
  }

  /** The rows at `head`. */
  get newest(): Rows {
    return this.at(this.head);
  }

  /** One commit: what it did, in its order. */
  record(revision: number, ...operations: readonly Operation[]): void {
    if (revision <= this.head || this.#early.has(revision)) throw new Error(`revision ${revision} is known`);
    this.#early.set(revision, operations);
    for (let next = this.#early.get(this.head + 1); next !== undefined; next = this.#early.get(this.head + 1)) {
      this.#early.delete(this.head + 1);
      this.#rows.push(next.reduce(applyTo, this.newest));
    }
  }

  /** Lets go of all revisions before this one. */
  forget(before: number): void {
    const old = Math.min(before - this.#first, this.#rows.length - 1);
    // Not one by one: to move the rest costs as much each time.
    if (old < 1000) return;
    this.#rows.splice(0, old);
    this.#first += old;
  }

  /** Throws when the revision is outside the range recorded without a gap. */
  at(revision: number): Rows {
    const rows = this.#rows[revision - this.#first];
    if (rows === undefined) throw new Error(`revision ${revision} is not known; the newest is ${this.head}`);
    return rows;
  }
}
