/** Roles to give and to take in several applications: a draft over what the person holds, whatever that is by then. */

interface RoleChanges {
  readonly add: readonly string[];
  readonly remove: readonly string[];
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
  const { add, remove } = draft.get(app) ?? NOTHING;
  const wanted = !isHeld(draft, app, role, held);
  const without = { add: add.filter((one) => one !== role), remove: remove.filter((one) => one !== role) };
  const changes =
    wanted === held.includes(role)
      ? without
      : wanted
        ? { ...without, add: [...without.add, role].sort() }
        : { ...without, remove: [...without.remove, role].sort() };
  const next = new Map(draft);
  if (changes.add.length + changes.remove.length === 0) next.delete(app);
  else next.set(app, changes);
  return next;
}

export function without(draft: RoleDraft, apps: readonly string[]): RoleDraft {
  return new Map([...draft].filter(([app]) => !apps.includes(app)));
}

/** The whole set to write: what is held now with the draft's changes, so that a role given meanwhile stays. */
export function rolesAfter(held: readonly string[], { add, remove }: RoleChanges): readonly string[] {
  return [...new Set([...held.filter((role) => !remove.includes(role)), ...add])].sort();
}
