/**
 * Who gains and who loses by a write (docs/reference/administration.md#dry-runs). People with the same facts before the write and
 * the same facts after it are compared once, by the six rules; the database counts them.
 */

import { LEVEL_NAMES, type LevelName } from '../base/level-names.ts';
import { byCodeUnit } from '../base/order.ts';
import { mapInSlices } from '../base/time-slice.ts';
import { evaluate, type PolicyPermission } from '../engine/evaluate.ts';
import { compilePolicy, type Policy } from '../engine/policy.ts';
import { Level } from '../engine/types.ts';
import {
  type ChangedOverride,
  type ChangedPerson,
  type Concern,
  changedOverrides,
  changedPeople,
  compareFacts,
  compareOverrides,
  type FactsGroup,
  type FactsText,
  keepFacts,
  type NamedGroup,
  nextBoundary,
  type OverrideGroup,
} from '../persistence/administration/impact.ts';
import type { Tx } from '../persistence/database.ts';
import { policyIn } from '../persistence/facts/source.ts';

/** One decision that differs. `resourceType` and `resourceId` are both null for a question without a resource. */
export interface ImpactChange {
  email: string;
  app: string;
  permission: string;
  resourceType: string | null;
  resourceId: string | null;
  from: LevelName;
  to: LevelName;
}

/** How the decisions of a write differ from those before it. Counts are exact; `changes` are the first by address and permission. */
export interface Impact {
  people: number;
  gained: number;
  lost: number;
  changes: ImpactChange[];
  truncated: boolean;
  /** When one of the grants compared begins or ends next, the write's own among them; null: never. */
  nextBoundary: Date | null;
}

/** The maximum number of listed changes. */
export const MAX_LISTED = 1000;

/** The state before a write: facts kept in the database, and policies. */
export interface Before {
  readonly concerns: readonly Concern[];
  readonly policies: readonly Policy[];
}

/** To be called before the write, in its transaction. */
export async function keepBefore(tx: Tx, concerns: readonly Concern[]): Promise<Before> {
  await keepFacts(tx, concerns);
  return { concerns, policies: await policiesOf(tx, concerns) };
}

/** Compares the state after the write with the kept one. */
export async function impactSince(tx: Tx, { concerns, policies }: Before): Promise<Impact> {
  const comparison = new Comparison(policies, await policiesOf(tx, concerns));
  const compared = await mapInSlices(await compareFacts(tx, concerns), (group) => comparison.changesOf(group));
  const groups = compared.filter(({ changes }) => changes.length > 0);
  const looked = await compareOverrides(tx, concerns, comparison.changedIds);
  const overrides = (await mapInSlices(looked, (group) => comparison.changeOf(group))).filter(
    (group) => group !== null,
  );
  const counts = { gained: 0, lost: 0 };
  for (const { changes, people } of groups) for (const change of changes) count(counts, change, people);
  for (const change of overrides) count(counts, change, change.overrides);
  const next = await nextBoundary(tx, concerns);
  if (counts.gained + counts.lost === 0) {
    return { people: 0, ...counts, changes: [], truncated: false, nextBoundary: next };
  }
  const { people, first } = await changedPeople(tx, { groups, overrides }, MAX_LISTED);
  const ids = [...new Set(first.map(({ personId }) => personId))];
  const rows = overrides.length === 0 ? [] : await changedOverrides(tx, { people: ids, overrides }, MAX_LISTED);
  const changes = listChanges({ first, groups, overrides, rows });
  const truncated = counts.gained + counts.lost > changes.length;
  return { people, ...counts, changes, truncated, nextBoundary: next };
}

interface Difference {
  app: string;
  code: string;
  from: Level;
  to: Level;
}

interface ComparedGroup extends FactsGroup {
  changes: readonly Difference[];
}

type ComparedOverrides = NamedGroup & Difference;

/** A permission before and after the write; undefined where it is not defined. */
interface Pair {
  readonly code: string;
  readonly before: PolicyPermission | undefined;
  readonly after: PolicyPermission | undefined;
  readonly same: boolean;
}

interface Side {
  readonly active: boolean;
  readonly superadmin: boolean;
  readonly admin: boolean;
  readonly roleIds: readonly number[];
}

/** The policies of both sides, prepared for comparing sets of facts. */
class Comparison {
  readonly #apps = new Map<number, { code: string; pairs: Pair[]; changed: Pair[]; byId: Map<number, Pair> }>();

  constructor(before: readonly Policy[], after: readonly Policy[]) {
    for (const [index, policy] of before.entries()) {
      const now = after[index];
      const id = policy.appId ?? now?.appId;
      if (id === null || id === undefined || now === undefined) continue;
      const pairs = pairsOf(policy, now);
      const byId = new Map(
        pairs.flatMap((pair) => [pair.before, pair.after].flatMap((one) => (one ? [[one.id, pair]] : []))),
      );
      this.#apps.set(id, { code: policy.app, pairs, changed: pairs.filter(({ same }) => !same), byId });
    }
  }

  /** The ids of permissions whose definition the write changes. */
  get changedIds(): number[] {
    const changed = [...this.#apps.values()].flatMap((app) => app.changed);
    return changed.flatMap(({ before, after }) => [before, after].flatMap((one) => (one ? [one.id] : [])));
  }

  /** The changed levels of people of that group without a resource. */
  changesOf(group: FactsGroup): ComparedGroup {
    const app = this.#apps.get(group.appId);
    if (app === undefined) return { ...group, changes: [] };
    const sides = { before: sideOf(group.before), after: sideOf(group.after) };
    const pairs = group.before === group.after ? app.changed : app.pairs;
    const changes = pairs
      .map((pair) => ({ app: app.code, code: pair.code, ...levelsOf(pair, sides, null) }))
      .filter(({ from, to }) => from !== to);
    return { ...group, changes };
  }

  /** The changed levels of people of that group for the override's resource; null for no change. */
  changeOf(group: OverrideGroup): ComparedOverrides | null {
    const app = this.#apps.get(group.appId);
    const pair = app?.byId.get(group.permissionId);
    if (app === undefined || pair === undefined) return null;
    const sides = { before: sideOf(group.before), after: sideOf(group.after) };
    const levels = levelsOf(pair, sides, { before: group.levelBefore, after: group.levelAfter });
    return levels.from === levels.to ? null : { ...group, app: app.code, code: pair.code, ...levels };
  }
}

function pairsOf(before: Policy, after: Policy): Pair[] {
  const codes = new Set([...before.permissions.keys(), ...after.permissions.keys()]);
  return [...codes].sort(byCodeUnit).map((code) => {
    const pair = { code, before: before.permissions.get(code), after: after.permissions.get(code) };
    return { ...pair, same: isSamePermission(pair.before, pair.after) };
  });
}

function isSamePermission(a: PolicyPermission | undefined, b: PolicyPermission | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.id !== b.id || a.tiered !== b.tiered || a.global !== b.global || a.levels.size !== b.levels.size) return false;
  return [...a.levels].every(([role, level]) => b.levels.get(role) === level);
}

/**
 * The level on both sides. Of a permission that only one side defines, roles and overrides count alone: neither a SuperAdmin
 * nor an administrator of the application gains a permission that is made, or loses one that is deleted.
 */
function levelsOf(
  pair: Pair,
  sides: { before: Side; after: Side },
  override: { before: number | null; after: number | null } | null,
): { from: Level; to: Level } {
  const alone = pair.before === undefined || pair.after === undefined;
  const level = (side: Side, permission: PolicyPermission | undefined, held: number | null | undefined): Level => {
    if (alone && permission === undefined) return Level.NONE;
    const person = { active: side.active, superadmin: side.superadmin && !alone };
    const member = { admin: side.admin && !alone, roleIds: side.roleIds };
    const overrides = held === undefined || held === null ? null : { get: () => held as Level };
    return evaluate(person, member, permission, overrides).level;
  };
  return {
    from: level(sides.before, pair.before, override?.before),
    to: level(sides.after, pair.after, override?.after),
  };
}

function sideOf(facts: FactsText): Side {
  if (facts === '') return { active: true, superadmin: false, admin: false, roleIds: [] };
  const ids = facts.slice(4, -1);
  return {
    active: facts[0] === 'a',
    superadmin: facts[1] === 's',
    admin: facts[2] === 'm',
    roleIds: ids === '' ? [] : ids.split(',').map(Number),
  };
}

/** `allowed` and `view` are the lowest levels of their types. */
const RANK = [0, 1, 1, 2] as const satisfies Record<Level, number>;

function count(
  counts: { gained: number; lost: number },
  { from, to }: { from: Level; to: Level },
  times: number,
): void {
  if (RANK[to] > RANK[from]) counts.gained += times;
  else counts.lost += times;
}

/** The first changes by address, permission, application and resource, those without a resource before the others. */
function listChanges({
  first,
  groups,
  overrides,
  rows,
}: {
  first: readonly ChangedPerson[];
  groups: readonly ComparedGroup[];
  overrides: readonly ComparedOverrides[];
  rows: readonly ChangedOverride[];
}): ImpactChange[] {
  const changesOf = new Map(groups.map((group) => [keyOf(group), group.changes]));
  const differenceOf = new Map(overrides.map((group) => [overrideKeyOf(group), group]));
  const rowsOf = Map.groupBy(rows, ({ personId, appId }) => `${personId}:${appId}`);
  const listed: ImpactChange[] = [];
  for (const places of Map.groupBy(first, ({ email }) => email).values()) {
    const own = places.flatMap((place) => {
      const plain = (changesOf.get(keyOf(place)) ?? []).map((one) => toChange(place.email, one, null));
      const single = (rowsOf.get(`${place.personId}:${place.appId}`) ?? []).flatMap((row) => {
        const one = differenceOf.get(overrideKeyOf({ ...place, ...row }));
        return one === undefined ? [] : [toChange(place.email, one, row)];
      });
      return [...plain, ...single];
    });
    listed.push(...own.sort(inListOrder));
    if (listed.length >= MAX_LISTED) break;
  }
  return listed.slice(0, MAX_LISTED);
}

function toChange(
  email: string,
  { app, code, from, to }: Difference,
  resource: { resourceType: string; resourceId: string } | null,
): ImpactChange {
  const { resourceType = null, resourceId = null } = resource ?? {};
  return { email, app, permission: code, resourceType, resourceId, from: LEVEL_NAMES[from], to: LEVEL_NAMES[to] };
}

function inListOrder(a: ImpactChange, b: ImpactChange): number {
  return (
    byCodeUnit(a.permission, b.permission) ||
    byCodeUnit(a.app, b.app) ||
    byCodeUnit(a.resourceType ?? '', b.resourceType ?? '') ||
    byCodeUnit(a.resourceId ?? '', b.resourceId ?? '')
  );
}

function keyOf({ appId, before, after }: Pick<FactsGroup, 'appId' | 'before' | 'after'>): string {
  return `${appId}|${before}|${after}`;
}

function overrideKeyOf(
  group: Pick<OverrideGroup, 'appId' | 'before' | 'after' | 'permissionId' | 'levelBefore' | 'levelAfter'>,
): string {
  return `${keyOf(group)}|${group.permissionId}|${group.levelBefore}|${group.levelAfter}`;
}

async function policiesOf(tx: Tx, concerns: readonly Concern[]): Promise<Policy[]> {
  const policies: Policy[] = [];
  for (const app of concerns.flatMap(({ apps }) => apps)) policies.push(compilePolicy(await policyIn(tx, app)));
  return policies;
}
