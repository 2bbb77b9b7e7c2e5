/** References to roles and permissions in bodies: by id, or by code. */

import { certain } from '../base/certain.ts';
import { UsherError } from '../base/errors.ts';
import { nearest, orMeant } from '../base/nearest.ts';
import { codesOf, idsByCode } from '../persistence/catalog/references.ts';
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

interface UnknownAt {
  app: string;
  path: string;
  thing: 'role' | 'permission';
  reference: Reference;
}

/** The same, naming an unknown code and the nearest that the application has; the author may see what they write. */
export async function unknownCode(tx: Tx, at: UnknownAt): Promise<UsherError> {
  const codes = typeof at.reference === 'number' ? [] : await codesOf(tx, at.thing, at.app);
  return unknownAmong(
    codes.map((code) => ({ code })),
    at,
  );
}

/** The same, where what the application has is at hand. */
export function unknownAmong(has: readonly { code: string }[], at: UnknownAt): UsherError {
  const { app, path, thing, reference } = at;
  if (typeof reference === 'number') return unknownReference(path, thing);
  const known = nearest(
    reference,
    has.map(({ code }) => code),
  );
  return new UsherError('UNKNOWN_REFERENCE', `${path}: ${app} has no ${thing} ${reference}${orMeant(known)}`, {
    details: { path, ...(known === null ? {} : { known }) },
  });
}

/** Throws 400 where an id and a code, or two spellings of a reference, mean the same permission. */
export function refuseRepeated(ids: readonly number[], references: readonly Reference[]): void {
  const at = ids.findIndex((id, index) => id !== NO_ID && ids.indexOf(id) < index);
  if (at < 0) return;
  const path = `permissions.${at}.${permissionField(certain(references[at]))}`;
  const message = 'repeats a permission of an earlier item; send each once';
  throw new UsherError('VALIDATION_FAILED', `${path}: ${message}`, { details: { issues: [{ path, message }] } });
}
