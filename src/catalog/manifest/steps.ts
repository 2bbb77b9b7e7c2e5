/** The steps of a plan: creations, changes and removals, and the number of records that are kept. */

import { membersOf } from '../../base/members.ts';
import type {
  ManifestApplication,
  ManifestEntity,
  ManifestNotificationType,
  ManifestPermission,
  ManifestRole,
  ManifestTemplate,
} from './format.ts';
import type { Admin, Assignment, Override } from './state.ts';

/** The kinds in display order. */
export const KINDS = [
  'application',
  'entity',
  'permission',
  'role',
  'notificationType',
  'template',
  'admin',
  'assignment',
  'override',
] as const;
export type Kind = (typeof KINDS)[number];

export interface RecordOf {
  application: ManifestApplication & { name: string };
  entity: ManifestEntity;
  permission: ManifestPermission;
  role: ManifestRole;
  notificationType: ManifestNotificationType;
  template: ManifestTemplate;
  admin: Admin;
  assignment: Assignment;
  override: Override;
}

export type Action = 'create' | 'change' | 'remove';

/** One step. `before` is null for a creation, `after` for a removal. */
export type StepOf<K extends Kind> = {
  kind: K;
  action: Action;
  key: string;
  before: RecordOf[K] | null;
  after: RecordOf[K] | null;
};
export type Step = { [K in Kind]: StepOf<K> }[Kind];

export interface Summary {
  create: number;
  change: number;
  remove: number;
  keep: number;
}

/** A step in answers and audit records (docs/reference/command-line.md#manifests). */
export interface Change {
  action: Action;
  kind: Kind;
  key: string;
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
}

/** Collects the steps of one kind by comparing stored records with planned ones. */
export class Steps<K extends Kind> {
  readonly list: StepOf<K>[] = [];
  /** How many there are of each action; `keep`: of planned records that are already stored so. */
  readonly counts: Summary = { create: 0, change: 0, remove: 0, keep: 0 };
  readonly #kind: K;

  constructor(kind: K) {
    this.#kind = kind;
  }

  /** `before` is null for a record to create. */
  want(key: string, before: RecordOf[K] | null, after: RecordOf[K]): void {
    if (before !== null && same(before, after)) this.counts.keep++;
    else this.#add({ kind: this.#kind, action: before === null ? 'create' : 'change', key, before, after });
  }

  remove(key: string, before: RecordOf[K]): void {
    this.#add({ kind: this.#kind, action: 'remove', key, before, after: null });
  }

  #add(step: StepOf<K>): void {
    this.list.push(step);
    this.counts[step.action]++;
  }
}

export function show(step: Step): Change {
  const change: Change = { action: step.action, kind: step.kind, key: step.key };
  if (step.before !== null) change.before = showRecord(step.before);
  if (step.after !== null) change.after = showRecord(step.after);
  return change;
}

function showRecord(record: object): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(record)) {
    // A grant without a window says nothing of one.
    if (value === null && (name === 'startsAt' || name === 'endsAt')) continue;
    shown[name] = isMap(value) ? Object.fromEntries(value) : value;
  }
  return shown;
}

/** Field by field; lists in their order, maps in any. */
function same(a: object, b: object): boolean {
  const fields = membersOf(b);
  return Object.entries(a).every(([name, value]) => sameValue(value, fields[name]));
}

function sameValue(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => item === b[at]);
  if (isMap(a) && isMap(b)) {
    return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
  }
  return a === b;
}

/** Not `instanceof`: the thread's maps may be of another realm, and the panel, which reads manifests too, has no node:util. */
function isMap(value: unknown): value is ReadonlyMap<unknown, unknown> {
  return Object.prototype.toString.call(value) === '[object Map]';
}
