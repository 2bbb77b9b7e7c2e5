/**
 * Target and executions at the provider that send its events here (docs/reference/identity-provider.md#set-up-of-events): found or made, the
 * signing key stored sealed. Every step may fail and be repeated.
 */

import { z } from 'zod';
import type { By } from '../administration/administer.ts';
import type { Clock } from '../base/clock.ts';
import { EVENT_KEY_CONTEXT, type Sealing } from '../brands/sealing.ts';
import type { Database } from '../persistence/database.ts';
import { getSetting, putSetting } from '../persistence/settings.ts';
import type { ActionsApi, EventTarget } from './actions-api.ts';
import { administerProvider, type Done, ProviderLocks } from './administration.ts';
import type { IdpClient } from './client.ts';
import { Making } from './making.ts';
import { NATIVE_EVENTS } from './native-event.ts';
import { EVENT_TARGET_SETTING } from './native-events.ts';
import { refuseUnsealable } from './signing-keys.ts';

interface EventActionsStatus {
  /** Target and executions were made, and the events can be verified. */
  configured: boolean;
  targetId: string | null;
  /** Where the provider sends its events. */
  endpoint: string;
  hasSigningKey: boolean;
  /** The types that it is to send. */
  events: string[];
}

const Stored = z.object({ targetId: z.string(), signingKey: z.string(), complete: z.boolean().default(false) });
type Stored = z.output<typeof Stored>;

/** Where the provider sends its events, below the public URL. */
export const EVENTS_PATH = '/api/idp/events';

interface EventActionsOptions {
  readonly client: IdpClient;
  readonly actions: ActionsApi;
  readonly database: Database;
  readonly clock: Pick<Clock, 'bytes' | 'monotonic'>;
  readonly sealing: Sealing;
  readonly publicUrl: () => string;
}

export class EventActions {
  readonly #options: EventActionsOptions;
  readonly #locks: ProviderLocks;
  readonly #making: Making;

  constructor(options: EventActionsOptions) {
    this.#options = options;
    this.#locks = new ProviderLocks(options);
    this.#making = new Making(options.database);
  }

  /** Makes what is missing. Throws IDP_NOT_CONFIGURED before any call when a configuration key is missing. */
  async setUp(by: By): Promise<EventActionsStatus> {
    const { database, client, sealing } = this.#options;
    const write = { action: 'event_actions.set_up', act: "set up the provider's events" };
    await administerProvider(database, by, write, async (done) => {
      client.refuseUnconfigured();
      refuseUnsealable(sealing);
      await this.#locks.hold('event-actions', () => this.#setUp(done));
    });
    return await this.#status();
  }

  async #setUp(done: Done): Promise<void> {
    const { actions, sealing } = this.#options;
    const known = await this.#stored();
    const { target, isNew } = await this.#target();
    const signingKey =
      target.signingKey ?? (isNew ? null : this.#keyOf(known, target.id)) ?? (await actions.swapKey(target.id));
    // Stored before anything is sent: an event that cannot be verified would be lost, since the provider repeats none.
    const stored = {
      targetId: target.id,
      signingKey: sealing.sealText(EVENT_KEY_CONTEXT, signingKey),
      complete: false,
    };
    await this.#store({ ...stored, complete: known?.targetId === target.id && known.complete });
    if (target.endpoint !== this.#endpoint) await actions.setEndpoint(target.id, this.#endpoint);
    for (const event of NATIVE_EVENTS) await actions.subscribe(event, target.id);
    await this.#store({ ...stored, complete: true });
    const after = { endpoint: this.#endpoint, events: NATIVE_EVENTS, step: isNew ? 'created' : 'found' };
    done({ action: 'event_actions.set_up', subject: target.id, after });
  }

  async #target(): Promise<{ target: EventTarget; isNew: boolean }> {
    const { actions } = this.#options;
    const made: { target?: EventTarget } = {};
    const id = await this.#making.once<string>('event-target', {
      isThere: async (one) => (await actions.target(one)) !== null,
      find: async () => (await actions.findTarget(this.#endpoint))?.id ?? null,
      make: async () => {
        made.target = await actions.createTarget(this.#endpoint);
        return made.target.id;
      },
    });
    if (made.target !== undefined) return { target: made.target, isNew: true };
    const target = (await actions.target(id)) ?? { id, endpoint: '', signingKey: null };
    return { target, isNew: false };
  }

  async #status(): Promise<EventActionsStatus> {
    const stored = await this.#stored();
    const hasSigningKey = stored !== null && this.#keyOf(stored, stored.targetId) !== null;
    const configured = stored?.complete === true && hasSigningKey;
    const targetId = stored?.targetId ?? null;
    return { configured, targetId, endpoint: this.#endpoint, hasSigningKey, events: [...NATIVE_EVENTS] };
  }

  get #endpoint(): string {
    return this.#options.publicUrl() + EVENTS_PATH;
  }

  /** Null for another target's, and when today's keys do not open it. */
  #keyOf(stored: Stored | null, target: string): string | null {
    return stored?.targetId === target ? this.#options.sealing.openText(EVENT_KEY_CONTEXT, stored.signingKey) : null;
  }

  async #stored(): Promise<Stored | null> {
    const kept = Stored.safeParse(await this.#options.database.read((tx) => getSetting(tx, EVENT_TARGET_SETTING)));
    return kept.success ? kept.data : null;
  }

  async #store(stored: Stored): Promise<void> {
    await this.#options.database.change(async (tx) => {
      await putSetting(tx, EVENT_TARGET_SETTING, stored);
      return { result: null, scopes: [] };
    });
  }
}
