/** References to roles and permissions in bodies: by id, or by code. */

import { certain } from '../base/certain.ts';
import { UsherError } from '../base/errors.ts';
import { idsByCode } from '../persistence/catalog/references.ts';
import type { Tx } from '../persistence/database.ts';

/** An id, or a code within the application of the request. */
export type Reference = number | string;

/** Stands for an unknown code; no row has it. */
const NO_ID = -1;

/**
 * The ids of the references, in their order. Ids are passed through, and an unknown code becomes an id that no row has: the
 * statement that locks the rows detects both. Codes never change, so they may be resolved before the lock.
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

/** The body's field for a reference to a permission. */
export function permissionField(reference: Reference): string {
  return typeof reference === 'number' ? 'permissionId' : 'permission';
}

/** 400 for a reference at `path` to an unknown role or permission. */
export function unknownReference(path: string, thing: 'role' | 'permission'): UsherError {
  return new UsherError('UNKNOWN_REFERENCE', `${path}: the application has no such ${thing}.`, { details: { path } });
}

/** Throws 400 where an id and a code, or two spellings of a reference, mean the same permission. */
export function refuseRepeated(ids: readonly number[], references: readonly Reference[]): void {
  const at = ids.findIndex((id, index) => id !== NO_ID && ids.indexOf(id) < index);
  if (at < 0) return;
  const path = `permissions.${at}.${permissionField(certain(references[at]))}`;
  const message = 'repeats a permission of an earlier item; send each once';
  throw new UsherError('VALIDATION_FAILED', `${path}: ${message}`, { details: { issues: [{ path, message }] } });
}
