/** The state of everything that an administrator may see, at a glance (docs/reference/administration.md#overview). */

import { formatRevision } from '../engine/types.ts';
import { countEndingSoon, countRegistry, type RegistryCounts } from '../persistence/administration/overview.ts';
import { newestRevision } from '../persistence/change-log.ts';
import type { Database, Tx } from '../persistence/database.ts';
import {
  type Applications,
  countByStatus,
  type FailingBrandRow,
  findFailingBrands,
  firstSince,
  oldestQueued,
} from '../persistence/notifications/recent.ts';
import { lastProviderEventAt } from '../persistence/provider/events.ts';
import { lastReconciliation } from '../persistence/provider/reconciliation.ts';
import { sightIn } from './reach.ts';
import { tagOf } from './records.ts';

interface OverviewState {
  readonly revision: string;
  readonly counts: RegistryCounts;
  /** Grants that end within 7 days. */
  readonly endingSoon: number;
  /** Notifications of the last 24 hours by status; a status without any is missing. */
  readonly sends: ReadonlyMap<string, number>;
  readonly oldestWaiting: Date | null;
  readonly failingBrands: readonly FailingBrandRow[];
  /** Of the identity provider; null for everybody but SuperAdmins. */
  readonly provider: {
    /** Null where none is configured. */
    readonly reachable: boolean | null;
    readonly lastEventAt: Date | null;
    /** How the last comparison of people ended, as it is kept; undefined for never. */
    readonly reconciliation: unknown;
  } | null;
}

export interface Overview extends OverviewState {
  readonly etag: string;
}

interface OverviewOptions {
  readonly database: Database;
  /** Whether the identity provider answers; null where none is configured. Never rejects. */
  readonly isReachable: () => Promise<boolean | null>;
}

const HOURS = 24;

export class Overviews {
  readonly #options: OverviewOptions;

  constructor(options: OverviewOptions) {
    this.#options = options;
  }

  /**
   * Of the applications that the reader may see. Its cost depends on the sends of a day, and a SuperAdmin's on the number of
   * applications; people are counted up to a bound.
   */
  async of(reader: string): Promise<Overview> {
    const { database, isReachable } = this.#options;
    const { kept, ...seen } = await database.read(async (tx) => {
      const { superadmin, applications } = await sightIn(tx, reader, null);
      const apps = applications?.map(({ id }) => id) ?? null;
      return {
        ...(await stateOf(tx, apps)),
        kept: superadmin
          ? { lastEventAt: await lastProviderEventAt(tx), reconciliation: await lastReconciliation(tx) }
          : null,
      };
    });
    // Outside the transaction: the provider may take its time.
    const provider = kept === null ? null : { reachable: await isReachable(), ...kept };
    const state = { ...seen, provider };
    return { ...state, etag: tagOf({ ...state, sends: [...state.sends] }) };
  }
}

async function stateOf(tx: Tx, apps: Applications): Promise<Omit<OverviewState, 'provider'>> {
  const from = await firstSince(tx, HOURS);
  return {
    revision: formatRevision(await newestRevision(tx)),
    counts: await countRegistry(tx, apps),
    endingSoon: await countEndingSoon(tx, apps),
    sends: from === null ? new Map<string, number>() : await countByStatus(tx, apps, from),
    oldestWaiting: await oldestQueued(tx, apps),
    failingBrands: from === null ? [] : await findFailingBrands(tx, apps, from),
  };
}
