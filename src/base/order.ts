/** Orders of lists (docs/reference/decisions.md#bulk-and-effective). */

/** By UTF-16 code units: the order of everything that is listed. */
export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The order of permissions: by group, those without one last, then by code. */
export function byGroupAndCode(
  a: { readonly groupName: string | null; readonly code: string },
  b: { readonly groupName: string | null; readonly code: string },
): number {
  if (a.groupName === b.groupName) return byCodeUnit(a.code, b.code);
  if (a.groupName === null) return 1;
  return b.groupName === null ? -1 : byCodeUnit(a.groupName, b.groupName);
}
