/** What somebody has changed in the matrix and not saved yet, with steps back. */

import { type CellLevel, fitted, levelAt, type MatrixTable } from './table.ts';

export interface CellChange {
  readonly roleId: number;
  readonly permissionId: number;
  /** What the cell held when the draft took it. */
  readonly from: CellLevel;
  readonly to: CellLevel;
}

export type Changes = ReadonlyMap<string, CellChange>;

export interface Draft {
  readonly changes: Changes;
  /** The changes before each step; the last is the newest. */
  readonly steps: readonly Changes[];
}

export interface WantedCell {
  readonly roleId: number;
  readonly permissionId: number;
  readonly level: CellLevel;
}

/** A write takes at most so many cells (docs/reference/administration.md#the-matrix). */
export const MAX_CHANGES = 1_000;
const MAX_STEPS = 200;

export const EMPTY: Draft = { changes: new Map(), steps: [] };

export function keyOf(roleId: number, permissionId: number): string {
  return `${roleId}:${permissionId}`;
}

/** What a cell holds with the draft. */
export function drafted(table: MatrixTable, changes: Changes, roleId: number, permissionId: number): CellLevel {
  const change = changes.get(keyOf(roleId, permissionId));
  return change === undefined ? levelAt(table, roleId, permissionId) : change.to;
}

/** Sets cells in one step. Levels are fitted to the permission; a cell that is as it was is no change. */
export function withCells(draft: Draft, table: MatrixTable, wanted: readonly WantedCell[]): Draft {
  const changes = new Map(draft.changes);
  let different = false;
  for (const { roleId, permissionId, level } of wanted) {
    const permission = table.permissionOf.get(permissionId);
    if (permission === undefined || !table.roleOf.has(roleId)) continue;
    const to = fitted(permission.type, level);
    const key = keyOf(roleId, permissionId);
    const before = changes.get(key);
    const from = before === undefined ? levelAt(table, roleId, permissionId) : before.from;
    if (to === (before === undefined ? from : before.to)) continue;
    different = true;
    if (to === from && from === levelAt(table, roleId, permissionId)) changes.delete(key);
    else changes.set(key, { roleId, permissionId, from, to });
  }
  return different ? stepped(draft, changes) : draft;
}

/** Takes the last step back. */
export function undone(draft: Draft): Draft {
  const changes = draft.steps.at(-1);
  return changes === undefined ? draft : { changes, steps: draft.steps.slice(0, -1) };
}

/** Takes every change away, as a step that can be taken back. */
export function discarded(draft: Draft): Draft {
  return draft.changes.size === 0 ? draft : stepped(draft, new Map());
}

/** A cell of the draft that somebody else has changed since. */
export interface Conflict extends CellChange {
  readonly theirs: CellLevel;
}

/** The draft on what is there now: what has come true, or has lost its role or permission, is no change any more. */
export function rebased(draft: Draft, table: MatrixTable): Draft {
  const kept = [...draft.changes].filter(
    ([, { roleId, permissionId, to }]) =>
      table.roleOf.has(roleId) && table.permissionOf.has(permissionId) && levelAt(table, roleId, permissionId) !== to,
  );
  return kept.length === draft.changes.size ? draft : { changes: new Map(kept), steps: [] };
}

export function conflictsOf(changes: Changes, table: MatrixTable): Conflict[] {
  const conflicts: Conflict[] = [];
  for (const change of changes.values()) {
    const theirs = levelAt(table, change.roleId, change.permissionId);
    if (theirs !== change.from) conflicts.push({ ...change, theirs });
  }
  return conflicts;
}

/** Settles conflicts: keeps the draft's cells, based on the stored state of now, or drops them for the stored ones. */
export function settled(draft: Draft, conflicts: readonly Conflict[], keep: 'mine' | 'theirs'): Draft {
  const changes = new Map(draft.changes);
  for (const { roleId, permissionId, to, theirs } of conflicts) {
    const key = keyOf(roleId, permissionId);
    if (keep === 'mine') changes.set(key, { roleId, permissionId, from: theirs, to });
    else changes.delete(key);
  }
  return stepped(draft, changes);
}

/** The body of the write. */
export function cellsOf(
  changes: Iterable<CellChange>,
): { roleId: number; permissionId: number; accessLevel: CellLevel }[] {
  return [...changes].map(({ roleId, permissionId, to }) => ({ roleId, permissionId, accessLevel: to }));
}

/** The body that takes the write back. */
export function inverseOf(
  changes: Iterable<CellChange>,
): { roleId: number; permissionId: number; accessLevel: CellLevel }[] {
  return [...changes].map(({ roleId, permissionId, from }) => ({ roleId, permissionId, accessLevel: from }));
}

function stepped(draft: Draft, changes: Changes): Draft {
  return { changes, steps: [...draft.steps.slice(1 - MAX_STEPS), draft.changes] };
}
