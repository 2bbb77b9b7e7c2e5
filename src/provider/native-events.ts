/**
 * The provider's own events (docs/reference/identity-provider.md#native-events). Most of them name nobody but by the account, so the person is
 * found by that, else by asking the provider; one who cannot be found is kept, and looked for again. Events of one user are ordered by
 * their sequence. The provider repeats nothing: what can be understood is never answered with an error.
 */

import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import { normalizeEmail } from '../base/grammar.ts';
import type { Logger } from '../base/telemetry.ts';
import { EVENT_KEY_CONTEXT, type Sealing } from '../brands/sealing.ts';
import type { Config } from '../config/config.ts';
import { record } from '../persistence/audit.ts';
import type { Committed, Database, Tx } from '../persistence/database.ts';
import { noteAccounts, personOfAccount, type Subject } from '../persistence/people/accounts.ts';
import { holdPerson, personIdOf } from '../persistence/people/people.ts';
import {
  advance,
  dropUnresolved,
  hasOtherActive,
  keepStateChange,
  keepUnresolved,
  listUnresolved,
  ownStateChange,
  setUserActive,
  setUserEmail,
} from '../persistence/provider/native-events.ts';
import type { AdminApi } from './admin-api.ts';
import type { IdpClient } from './client.ts';
import { noteEvent, type ProviderEvents, reasonOf } from './events.ts';
import type { Lifecycle } from './lifecycle.ts';
import { type NativeEvent, readNativeEvent, storableEvent } from './native-event.ts';
import { examineSignature, verifySignature } from './signature.ts';
import { storedSigningKey } from './signing-keys.ts';

interface NativeEventsOptions {
  readonly config: Pick<Config, 'auth' | 'idp'>;
  readonly database: Database;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Logger, 'warn'>;
  readonly sealing: Sealing;
  readonly client: Pick<IdpClient, 'configured'>;
  readonly api: Pick<AdminApi, 'user'>;
  readonly lifecycle: Pick<Lifecycle, 'tell'>;
  readonly events: Pick<ProviderEvents, 'note'>;
}

/** The setting in which set-up stores target and sealed signing key: `{targetId, signingKey}`. */
export const EVENT_TARGET_SETTING = 'idp.event-target';
const BATCH = 200;

/** The issuer whose accounts the provider's users are. */
export function providerIssuer({ auth, idp }: Pick<Config, 'auth' | 'idp'>): string {
  return auth.issuer ?? idp.publicUrl ?? idp.apiUrl ?? '';
}

export class NativeEvents {
  readonly #options: NativeEventsOptions;
  readonly #issuer: string;

  constructor(options: NativeEventsOptions) {
    this.#options = options;
    this.#issuer = providerIssuer(options.config);
  }

  /** The headers that may carry the signature. */
  get signatureHeaders(): readonly string[] {
    return this.#options.config.idp.signatureHeader;
  }

  /** Throws NOT_FOUND where no key is known. */
  async refuseUnconfigured(): Promise<void> {
    if ((await this.#keys()).length === 0) throw new UsherError('NOT_FOUND', 'There is nothing at this path.');
  }

  /** Throws for faults of a signature that no body can mend. */
  async examine(header: string): Promise<void> {
    examineSignature(header, await this.#keys(), this.#options.clock.now());
  }

  /** Throws SIGNATURE_INVALID or SIGNATURE_EXPIRED. `body` is the bytes received. */
  async verify(header: string, body: Buffer): Promise<void> {
    const { clock, config } = this.#options;
    const scheme = config.idp.signatureScheme;
    verifySignature({ header, body, keys: await this.#keys(), scheme, now: clock.now() });
  }

  /** Whether the event changed anything. VALIDATION_FAILED without a usable type or user. */
  async receive(json: unknown, requestId: string): Promise<Pick<Committed<boolean>, 'result'> & { revision?: string }> {
    const { eventType, event } = readNativeEvent(json);
    if (event !== null) return await this.#take(event, requestId);
    const nothing = { source: 'event', orgId: null, email: null, outcome: 'ignored', reason: null } as const;
    await this.#options.events.note({ ...nothing, eventType });
    return { result: false };
  }

  /** Looks again for the people of events that are kept; how many were found. Never rejects because of one. */
  async retry(requestId: string, { of, goOn }: { of?: string; goOn?: () => Promise<void> } = {}): Promise<number> {
    const { database, log } = this.#options;
    let resolved = 0;
    for (let after = 0; ; ) {
      await goOn?.();
      const page = { after, limit: BATCH, ...(of === undefined ? {} : { subject: of }) };
      const rows = await database.read((tx) => listUnresolved(tx, page));
      for (const { event: json } of rows) {
        const { event } = readNativeEvent(json);
        if (event === null) continue;
        const email = await this.#emailOf(event);
        if (typeof email !== 'string') continue;
        await this.#apply(event, email, requestId)
          .then(() => resolved++)
          .catch((error: unknown) => log.warn({ err: error }, 'kept event of the identity provider not applied'));
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < BATCH) return resolved;
      after = last.id;
    }
  }

  async #take(event: NativeEvent, requestId: string): Promise<Committed<boolean> | { result: false }> {
    const email = await this.#emailOf(event);
    if (typeof email === 'string') {
      const applied = await this.#apply(event, email, requestId);
      // Events that are kept may be about the person who is known now.
      await this.retry(requestId, { of: event.userId });
      return applied;
    }
    const { eventType, userId: subject, orgId, leftOut } = event;
    const { reason } = email;
    const kept = {
      ...this.#place(event),
      orgId: orgId || null,
      email: event.email,
      event: storableEvent(event),
      reason,
    };
    await this.#options.database.change(async (tx) => {
      await keepUnresolved(tx, kept);
      const outcome = 'unresolved';
      await noteEvent(tx, {
        source: 'event',
        eventType,
        orgId: orgId || null,
        email: event.email,
        outcome,
        reason,
        leftOut,
      });
      return { result: null, scopes: [] };
    });
    this.#options.log.warn(
      { eventType, userId: subject, reason },
      'event of the identity provider is about nobody known',
    );
    return { result: false };
  }

  /** The address here of the event's person, or why nobody was found. */
  async #emailOf(event: NativeEvent): Promise<string | { reason: string }> {
    const { api, client, database } = this.#options;
    const known = await database.read((tx) => personOfAccount(tx, this.#account(event)));
    if (known !== undefined) return known.email;
    // The address of a change is the new one: it says nothing of who had the old one.
    if (event.moves.event === 'user.created' && event.email !== null) return event.email;
    if (!client.configured) return { reason: 'IDP_NOT_CONFIGURED' };
    try {
      const user = await api.user(event.userId);
      const email = user === null ? null : normalizeEmail(user.email);
      if (email === null) return { reason: 'NOT_FOUND' };
      if (event.moves.event !== null) return email;
      const person = await database.read((tx) => personIdOf(tx, email));
      return person === null ? { reason: 'NOT_FOUND' } : email;
    } catch (error) {
      // Whatever is wrong there, the provider would not send the event again.
      return { reason: reasonOf(error) };
    }
  }

  async #apply(event: NativeEvent, email: string, requestId: string): Promise<Committed<boolean>> {
    const { lifecycle } = this.#options;
    const { moves } = event;
    if (moves.event === null) return await this.#noteEmail(event, email, requestId);
    const told = {
      event: moves.event,
      eventType: event.eventType,
      email,
      names: event.names,
      orgId: event.orgId,
      occurredAt: event.createdAt,
      eventId: null,
      leftOut: event.leftOut,
      requestId,
    };
    return await lifecycle.tell(told, {
      source: 'event',
      stillHolds: (tx) => this.#holds(tx, event, email),
      after: (tx) => this.#settle(tx, event, email),
    });
  }

  /** Whether the event is news about the person, in the transaction that applies it. */
  async #holds(tx: Tx, event: NativeEvent, email: string): Promise<boolean | Date> {
    const { moves, sequence, orgId } = event;
    const account = this.#account(event);
    const person = await holdPerson(tx, email);
    // Of one user the sequence decides: a clock that differs between the provider's machines does not.
    const since = person === null ? null : await ownStateChange(tx, person, account);
    const isNews = await advance(tx, account, { matter: moves.matter, sequence, orgId });
    const says = STATES[moves.event ?? 'user.updated'];
    if (isNews && says !== null) await setUserActive(tx, account, says);
    // A creation makes a record that is missing, and wakes nobody, however late it comes.
    if (moves.event === 'user.created') return true;
    if (!isNews) return false;
    if (person === null) return true;
    if (moves.matter === 'names') return await isOwnAccount(tx, person, account);
    if (says === false && (await hasOtherActive(tx, person, account))) return false;
    return since ?? true;
  }

  async #settle(tx: Tx, event: NativeEvent, email: string): Promise<void> {
    const seenAt = event.createdAt ?? new Date(this.#options.clock.now());
    await noteAccounts(tx, [{ ...this.#account(event), email, seenAt }]);
    if (event.moves.matter === 'state') await keepStateChange(tx, this.#account(event), email);
    await dropUnresolved(tx, this.#place(event));
  }

  /** An address is not changed here: it is noted, for somebody to move the person. */
  async #noteEmail(event: NativeEvent, email: string, requestId: string): Promise<Committed<boolean>> {
    const { database, clock } = this.#options;
    const { eventType, sequence, orgId, email: to, leftOut } = event;
    const account = this.#account(event);
    return await database.change(async (tx) => {
      await holdPerson(tx, email);
      const isNews = (await advance(tx, account, { matter: 'email', sequence, orgId })) && to !== null;
      const at = event.createdAt ?? new Date(clock.now());
      if (isNews) await setUserEmail(tx, account, to, at);
      await this.#settle(tx, event, email);
      const isChanged = isNews && to !== email;
      if (isChanged) {
        await record(tx, {
          actor: 'idp',
          action: 'user.email_changed_at_provider',
          subject: email,
          before: { email },
          after: { email: to },
          requestId,
        });
      }
      const outcome = isChanged ? 'applied' : 'unchanged';
      await noteEvent(tx, { source: 'event', eventType, orgId: orgId || null, email, outcome, reason: null, leftOut });
      return { result: isChanged, scopes: [] };
    });
  }

  #account({ userId }: NativeEvent): Subject {
    return { issuer: this.#issuer, subject: userId };
  }

  #place(event: NativeEvent) {
    return { ...this.#account(event), sequence: event.sequence ?? 0, eventType: event.eventType };
  }

  /** The configured keys, and the one that set-up stored. */
  async #keys(): Promise<string[]> {
    const { config } = this.#options;
    const ofEvents = { setting: EVENT_TARGET_SETTING, context: EVENT_KEY_CONTEXT, name: 'signing key of events' };
    const stored = await storedSigningKey(this.#options, ofEvents);
    return [...config.idp.eventSigningKeys, ...(stored === null ? [] : [stored])];
  }
}

/** The state that each event says the provider's user has. */
const STATES = {
  'user.created': true,
  'user.updated': null,
  'user.deactivated': false,
  'user.reactivated': true,
  'user.removed': false,
} as const;

/** Names are those of the account that signs in; of others only where none does. */
async function isOwnAccount({ kysely }: Tx, person: number, { issuer, subject }: Subject): Promise<boolean> {
  const other = await kysely
    .selectFrom('person_account')
    .select('userId')
    .where('personId', '=', person)
    .where('signsIn', '=', true)
    .where('issuer', '=', issuer)
    .where('userId', '<>', subject)
    .executeTakeFirst();
  return other === undefined;
}
