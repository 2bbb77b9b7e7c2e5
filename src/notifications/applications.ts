/** The application that a notification, a type or a template is of. */

import { UsherError } from '../errors.ts';
import type { Tx } from '../persistence/database.ts';
import { findApplication } from '../persistence/notifications/applications.ts';

/** Its id, for reads of what a path names; NOT_FOUND when there is none. */
export async function knownApplication(tx: Tx, code: string): Promise<number> {
  const app = await findApplication(tx, code);
  if (app === undefined) throw unknownApplication(code);
  return app.id;
}

export function unknownApplication(code: string): UsherError {
  return new UsherError('NOT_FOUND', `There is no application ${code}.`);
}
