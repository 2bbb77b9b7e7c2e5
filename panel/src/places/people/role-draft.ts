/** Roles to give and to take in several applications: a draft over what the person holds, whatever that is by then. */

interface RoleChanges {
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** By code, when a role that is added or held is to end; null: never. A role that is absent keeps its end. */
  readonly ends?: Readonly<Record<string, string | null>>;
}
/** By application. Those without changes are left out. */
export type RoleDraft = ReadonlyMap<string, RoleChanges>;

const NOTHING: RoleChanges = { add: [], remove: [] };

export function isHeld(draft: RoleDraft, app: string, role: string, held: readonly string[]): boolean {
  const { add, remove } = draft.get(app) ?? NOTHING;
  return (held.includes(role) && !remove.includes(role)) || add.includes(role);
}

/** The draft with a role turned on or off. Going back to what is held is no change. */
export function turned(draft: RoleDraft, app: string, role: string, held: readonly string[]): RoleDraft {
  const { add, remove, ends = {} } = draft.get(app) ?? NOTHING;
  const wanted = !isHeld(draft, app, role, held);
  const without = { add: add.filter((one) => one !== role), remove: remove.filter((one) => one !== role) };
  const changes =
    wanted === held.includes(role)
      ? without
      : wanted
        ? { ...without, add: [...without.add, role].sort() }
        : { ...without, remove: [...without.remove, role].sort() };
  const { [role]: _, ...others } = ends;
  return withChanges(draft, app, { ...changes, ends: others });
}

/** The draft with another end of a role that is added or held. The end that it has already is no change. */
export function ending(
  draft: RoleDraft,
  app: string,
  { role, endsAt, held }: { role: string; endsAt: string | null; held: string | null },
): RoleDraft {
  const { ends = {}, ...changes } = draft.get(app) ?? NOTHING;
  const { [role]: _, ...others } = ends;
  return withChanges(draft, app, { ...changes, ends: endsAt === held ? others : { ...others, [role]: endsAt } });
}

function withChanges(draft: RoleDraft, app: string, { add, remove, ends = {} }: RoleChanges): RoleDraft {
  const next = new Map(draft);
  const ending = Object.keys(ends).length > 0;
  if (add.length + remove.length === 0 && !ending) next.delete(app);
  else next.set(app, { add, remove, ...(ending ? { ends } : {}) });
  return next;
}

export function without(draft: RoleDraft, apps: readonly string[]): RoleDraft {
  return new Map([...draft].filter(([app]) => !apps.includes(app)));
}

/** The same as the service takes it: a role without an end that was chosen keeps the window that it has. */
export function rolesToWrite(
  held: readonly string[],
  changes: RoleChanges,
): (string | { role: string; endsAt: string | null })[] {
  const { ends = {} } = changes;
  return rolesAfter(held, changes).map((role) => {
    const endsAt = ends[role];
    return endsAt === undefined ? role : { role, endsAt };
  });
}

/** The whole set to write: what is held now with the draft's changes, so that a role given meanwhile stays. */
export function rolesAfter(held: readonly string[], { add, remove }: RoleChanges): readonly string[] {
  return [...new Set([...held.filter((role) => !remove.includes(role)), ...add])].sort();
}
