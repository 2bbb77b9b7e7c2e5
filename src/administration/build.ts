/** What administration gives the gateway. */

import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Database } from '../persistence/database.ts';
import { AuditLog } from './audit-log.ts';
import { ChangeStreams } from './change-streams.ts';
import { Overviews } from './overview.ts';

interface AdministrationOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** The number of the revision that this instance has reached. */
  readonly reached: () => number;
}

export type Administration = Readonly<ReturnType<typeof buildAdministration>>;

/** `isReachable`: whether the identity provider answers; null where none is configured. Never rejects. */
export function buildAdministration(options: AdministrationOptions, isReachable: () => Promise<boolean | null>) {
  const { database } = options;
  return {
    auditLog: new AuditLog(database),
    changeStreams: new ChangeStreams(options),
    overviews: new Overviews({ database, isReachable }),
  };
}
