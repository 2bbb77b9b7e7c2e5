/** Roles and permissions as bodies name them: by id, or by code. */

import { UsherError } from '../base/errors.ts';
import { idsByCode } from '../persistence/catalog/references.ts';
import type { Tx } from '../persistence/database.ts';

/** An id, or a code of the application that the request is about. */
export type Reference = number | string;

/** Stands for a code that the application does not define; no row has it. */
const NO_ID = -1;

/**
 * The ids of the references, in their order. An id is not looked at, and an unknown code becomes one that no row has: the
 * statement that locks the rows finds out about both. Codes never change, so this may be read before.
 */
export async function idsOf(
  tx: Tx,
  table: 'role' | 'permission',
  app: string,
  references: readonly Reference[],
): Promise<number[]> {
  const codes = references.filter((reference) => typeof reference === 'string');
  const found = await idsByCode(tx, table, app, codes);
  return references.map((reference) => (typeof reference === 'number' ? reference : (found.get(reference) ?? NO_ID)));
}

/** The field of a body that names a permission in this way. */
export function permissionField(reference: Reference): string {
  return typeof reference === 'number' ? 'permissionId' : 'permission';
}

/** 400 for a reference at `path` to a role or permission that the application does not have. */
export function unknownReference(path: string, thing: 'role' | 'permission'): UsherError {
  return new UsherError('UNKNOWN_REFERENCE', `${path}: the application has no such ${thing}.`, { details: { path } });
}

/** Throws 400 where an id and a code, or two spellings of a reference, name one permission twice. */
export function refuseRepeated(ids: readonly number[], references: readonly Reference[]): void {
  const at = ids.findIndex((id, index) => id !== NO_ID && ids.indexOf(id) < index);
  if (at < 0) return;
  const path = `permissions.${at}.${permissionField(references[at] as Reference)}`;
  const message = 'names a permission that is named before; name each once';
  throw new UsherError('VALIDATION_FAILED', `${path}: ${message}`, { details: { issues: [{ path, message }] } });
}
