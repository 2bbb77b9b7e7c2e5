/** The three requests, as plain values. */

import type { Level } from '../engine/types.ts';

/** Who asks about what, as it was sent; '' is absent. Lengths are within the contract's, the rest is not looked at yet. */
export interface AskedSubject {
  email: string;
  app: string;
  resourceType: string;
  resourceId: string;
  /** As it was sent; '' is none. */
  minRevision: string;
}

/** A CheckRequest. `level` is the least that will do: NONE (any), VIEW or EDIT. */
export interface AskedCheck extends AskedSubject {
  permission: string;
  level: Level;
}

/** A BulkCheckRequest. `permissions` holds each code once, in the order of first mention. */
export interface AskedBulk extends AskedSubject {
  permissions: string[];
  level: Level;
}
