import type { ChangeHistory } from '../../engine/types.ts';
import { readChanges, readNonce } from '../administration/changes.ts';
import type { Database } from '../database.ts';

/** The change log, for streams that missed more than an instance remembers. */
export function changeHistory(database: Pick<Database, 'read'>): ChangeHistory {
  return (mark, upTo, limit) =>
    database.read(async (tx) => {
      const isOfThisHistory =
        mark.number === 0 || (mark.nonce !== null && (await readNonce(tx, mark.number)) === mark.nonce);
      if (!isOfThisHistory) return null;
      const rows = await readChanges(tx, { since: mark.number, upTo, limit });
      // Revisions have no gaps: what is missing at the beginning was pruned, between the two statements or long ago.
      if (rows.length > 0 && rows[0]?.number !== mark.number + 1) return null;
      return rows.map(({ number, nonce, scopes }) => ({ revision: number, nonce, scopes }));
    });
}
