/** What a record of the audit changed, field by field: for the panel and the command line. Pure. */

/** One difference: null where there is nothing on that side. */
export interface Difference {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

type Fields = Readonly<Record<string, unknown>>;
/** An item such as `project.access: view` has a name of its own. */
const NAMED = /^([^\s:]+): (.*)$/s;

/** What a record changed, field by field; what stayed is left out. */
export function differencesOf({ before, after }: { before: unknown; after: unknown }): Difference[] {
  const of = recordIn(after) ?? recordIn(before);
  const [had, has] = [overrideIn(before), overrideIn(after)];
  const override = has ?? had;
  if (override !== null) return [{ name: override.name, before: had?.choice ?? null, after: has?.choice ?? null }];
  if (!isFields(before) && !isFields(after)) return differing('value', before, after);
  const [old, now] = [isFields(before) ? before : {}, isFields(after) ? after : {}];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return names
    .flatMap((name) => differing(name, old[name], now[name]))
    .map((one) => (of === null || PLACE.has(one.name) ? one : { ...one, name: `${one.name} · ${of}` }));
}

/** Of a record of overrides. */
const PLACE: ReadonlySet<string> = new Set(['resourceType', 'resourceId']);

/** The record that a side is about, such as `ticket:42`; null for what is about none. */
function recordIn(side: unknown): string | null {
  if (!isFields(side) || typeof side.resourceType !== 'string' || typeof side.resourceId !== 'string') return null;
  return `${side.resourceType}:${side.resourceId}`;
}

/** An override as one thing; null for anything else. */
function overrideIn(side: unknown): { name: string; choice: string } | null {
  if (!isFields(side) || typeof side.permission !== 'string' || typeof side.resourceId !== 'string') return null;
  const name = `${side.permission} · ${String(side.resourceType)}:${side.resourceId}`;
  return { name, choice: side.granted === true ? (shown(side.accessLevel) ?? 'allowed') : 'denied' };
}

function differing(name: string, before: unknown, after: unknown): Difference[] {
  if (JSON.stringify(before ?? null) === JSON.stringify(after ?? null)) return [];
  const [old, now] = [namedIn(before), namedIn(after)];
  if (old !== null && now !== null && old.size + now.size > 0) {
    return [...new Set([...old.keys(), ...now.keys()])].flatMap((key) =>
      differing(key, old.get(key) ?? null, now.get(key) ?? null),
    );
  }
  if (isFields(before) && isFields(after)) {
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
      differing(`${name}.${key}`, before[key], after[key]),
    );
  }
  return [{ name, before: shown(before), after: shown(after) }];
}

/** The items of a list that have names; empty for nothing, null for anything else. */
function namedIn(value: unknown): Map<string, string> | null {
  if (value === null || value === undefined) return new Map();
  if (!Array.isArray(value)) return null;
  const items = new Map<string, string>();
  for (const item of value) {
    const [, name, of] = typeof item === 'string' ? (NAMED.exec(item) ?? []) : [];
    if (name === undefined || of === undefined) return null;
    items.set(name, of);
  }
  return items;
}

function shown(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ');
  return JSON.stringify(value);
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
