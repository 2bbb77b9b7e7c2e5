/** The new history of a database; loaded by the command that begins it. */

import { beginNewHistory } from '../persistence/operations/history.ts';
import type { GlobalOptions, Io } from './io.ts';
import { withDatabase } from './with-database.ts';

export async function reincarnate(
  io: Io,
  options: GlobalOptions,
  reason: string | undefined,
): Promise<{ revisions: number; revision: string }> {
  return await withDatabase(io, options, async (database) => {
    const { result: revisions, revision } = await beginNewHistory(database, { reason });
    return { revisions, revision };
  });
}
