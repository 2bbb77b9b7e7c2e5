/**
 * What the identity provider reported or asked for, and what came of it, for operators
 * (docs/reference/identity-provider.md#events). No secret, code, link or text of a mail is stored.
 */

import { type Reason, UsherError } from '../base/errors.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Database, Tx } from '../persistence/database.ts';
import {
  countFallbacks,
  countUnknownOrganizations,
  type FallbackRow,
  insertProviderEvent,
  listProviderEvents,
  type NewProviderEvent,
  type ProviderEventRow,
  type UnknownOrganizationRow,
} from '../persistence/provider/events.ts';

import {
  type EmailChangeRow,
  listEmailChanges,
  listUnresolved,
  type UnresolvedRow,
} from '../persistence/provider/native-events.ts';

export type { NewProviderEvent, ProviderEventRow } from '../persistence/provider/events.ts';

export interface ProviderEventLog {
  /** The newest first. */
  readonly events: ProviderEventRow[];
  readonly fallbacks: FallbackRow[];
  readonly unknownOrganizations: UnknownOrganizationRow[];
  /** Native events whose people could not be found yet, the oldest first. */
  readonly unresolved: Omit<UnresolvedRow, 'issuer' | 'event'>[];
  /** People whose address was changed at the provider, and who have the old one here. */
  readonly emailChanges: EmailChangeRow[];
}

const LISTED = 200;
/** Of each kind of counts; organizations that do not exist can be invented. */
const MAX_COUNTS = 100;
const MAX_TEXT = 200;
const UNKNOWN_ORGANIZATION: Reason = 'UNKNOWN_ORGANIZATION';

export class ProviderEvents {
  readonly #database: Database;
  readonly #log: Logger;

  constructor({ database, log }: { database: Database; log: Logger }) {
    this.#database = database;
    this.#log = log;
  }

  /** Stores the event in a transaction of its own. Never rejects: the provider must not wait for the list of its events. */
  async note(event: NewProviderEvent): Promise<void> {
    try {
      await this.#database.change(async (tx) => {
        await noteEvent(tx, event);
        return { result: null, scopes: [] };
      });
    } catch (error) {
      this.#log.warn({ err: error, source: event.source }, 'event of the identity provider not stored');
    }
  }

  /** The last 200 events, and counts over all that are kept. */
  read(): Promise<ProviderEventLog> {
    return this.#database.read(async (tx) => ({
      events: await listProviderEvents(tx, LISTED),
      fallbacks: await countFallbacks(tx, MAX_COUNTS),
      unknownOrganizations: await countUnknownOrganizations(tx, UNKNOWN_ORGANIZATION, MAX_COUNTS),
      unresolved: (await listUnresolved(tx, { after: 0, limit: LISTED })).map(
        ({ issuer: _issuer, event: _event, ...row }) => row,
      ),
      emailChanges: await listEmailChanges(tx, LISTED),
    }));
  }
}

/** Stores the event with the change that it made. */
export async function noteEvent(tx: Tx, event: NewProviderEvent): Promise<void> {
  const named = { eventType: storableText(event.eventType), orgId: storableText(event.orgId) };
  await insertProviderEvent(tx, { ...event, ...named });
}

/** The reason of a failure: the code of its error. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof UsherError)) return 'INTERNAL';
  return error.reason ?? error.code;
}

/** The provider's text as a column takes it. */
export function storableText(text: string | null): string | null {
  return (
    text
      ?.replace(/\p{Cc}/gu, '')
      .slice(0, MAX_TEXT)
      .toWellFormed() ?? null
  );
}
