/**
 * Usher as the provider's HTTP e-mail provider: found or created there, its signing key stored sealed, and activated. Every step
 * may fail and be repeated. (docs/reference/identity-provider.md#organizations.)
 */

import { z } from 'zod';
import type { By } from '../administration/administer.ts';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import { type Sealing, SIGNING_KEY_CONTEXT } from '../brands/sealing.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../persistence/database.ts';
import { getSetting, putSetting } from '../persistence/settings.ts';
import { type AdminApi, type EmailProvider, hasCode } from './admin-api.ts';
import { administerProvider, type Done, ProviderLocks } from './administration.ts';
import { type IdpClient, IdpCode } from './client.ts';
import { PROVIDER_SETTING } from './mail/provider-setting.ts';
import { Making } from './making.ts';
import { refuseUnsealable } from './signing-keys.ts';

interface NotificationProviderStatus {
  /** Set up and activated, and its e-mails can be verified. */
  configured: boolean;
  providerId: string | null;
  /** Where the provider sends its e-mails. */
  endpoint: string;
  hasSigningKey: boolean;
  serviceAccountConfigured: boolean;
}

/** Stored under PROVIDER_SETTING, where the e-mail endpoint finds the key. */
const Stored = z.object({ providerId: z.string(), signingKey: z.string(), active: z.boolean().default(false) });
type Stored = z.output<typeof Stored>;

const DESCRIPTION = 'Usher';
const ENDPOINT = '/api/idp/notifications/email';
/** Versions of the provider before signing keys for e-mail (ZITADEL before 4.0 of August 2025) return none. */
const NO_KEY =
  'The identity provider returned no signing key: its version does not sign e-mails yet. Update it (ZITADEL 4.0 or newer), then set this up again.';
/** The provider's keys are 36 letters and digits; a masked one does not match. */
const SIGNING_KEY = /^[A-Za-z0-9]{16,}$/;

interface NotificationProviderOptions {
  readonly config: Pick<Config, 'idp'>;
  readonly client: IdpClient;
  readonly api: AdminApi;
  readonly database: Database;
  readonly clock: Pick<Clock, 'bytes' | 'monotonic'>;
  readonly sealing: Sealing;
  readonly publicUrl: () => string;
}

export class NotificationProvider {
  readonly #options: NotificationProviderOptions;
  readonly #locks: ProviderLocks;
  readonly #making: Making;

  constructor(options: NotificationProviderOptions) {
    this.#options = options;
    this.#making = new Making(options.database);
    this.#locks = new ProviderLocks(options);
  }

  /** The state stored here; the provider is not called. */
  async status(): Promise<NotificationProviderStatus> {
    const { config, database } = this.#options;
    const stored = await database.read((tx) => getSetting(tx, PROVIDER_SETTING)).then(readStored);
    const hasSigningKey = config.idp.notificationSigningKey !== null || this.#keyOf(stored) !== null;
    return {
      configured: stored?.active === true && hasSigningKey,
      providerId: stored?.providerId ?? null,
      endpoint: this.#endpoint,
      hasSigningKey,
      serviceAccountConfigured: config.idp.serviceAccountToken !== null,
    };
  }

  /**
   * Finds or creates the provider, stores its signing key, activates it. Throws IDP_NOT_CONFIGURED before any call when a
   * configuration key is missing.
   */
  async setUp(by: By): Promise<NotificationProviderStatus> {
    const { database, client, sealing } = this.#options;
    const write = { action: 'notification_provider.set_up', act: 'set up the notification provider' };
    await administerProvider(database, by, write, async (done) => {
      client.refuseUnconfigured();
      refuseUnsealable(sealing);
      await this.#locks.hold('notification-provider', () => this.#setUp(done));
    });
    return await this.status();
  }

  /** Activates the provider that was set up. NOT_FOUND before a set-up, or when the provider no longer has it. */
  async activate(by: By): Promise<NotificationProviderStatus> {
    const { database, client } = this.#options;
    const write = { action: 'notification_provider.activated', act: 'activate the notification provider' };
    await administerProvider(database, by, write, async (done) => {
      client.refuseUnconfigured();
      await this.#locks.hold('notification-provider', async () => {
        const stored = await this.#stored();
        if (stored === null)
          throw new UsherError('NOT_FOUND', 'The notification provider has not been set up: do that first.');
        await this.#activate(stored, done);
      });
    });
    return await this.status();
  }

  async #setUp(done: Done): Promise<void> {
    const known = await this.#stored();
    const { id, signingKey, step } = await this.#findOrMake(known);
    // Stored before anything else is tried: without it the provider's e-mails could not be verified.
    const stored = {
      providerId: id,
      signingKey: this.#options.sealing.sealText(SIGNING_KEY_CONTEXT, signingKey),
      active: known?.providerId === id && known.active,
    };
    await this.#store(stored);
    done({ action: 'notification_provider.set_up', subject: id, after: { endpoint: this.#endpoint, step } });
    await this.#activate(stored, done);
  }

  async #findOrMake(known: Stored | null) {
    const { api } = this.#options;
    // Read by its id: the search shows what was made a moment ago only later, and a second one would be made.
    const stored = known === null ? null : await api.emailProvider(known.providerId);
    if (stored !== null && stored !== undefined) return await this.#adopt(stored, known);
    const made: { key?: string } = {};
    const id = await this.#making.once<string>('notification-provider', {
      isThere: async (one) => {
        const found = await api.emailProvider(one);
        return found === undefined ? undefined : found !== null;
      },
      find: async () => this.#pick(await api.emailProviders(), known)?.id ?? null,
      make: async () => {
        const created = await api.createEmailProvider({ endpoint: this.#endpoint, description: DESCRIPTION });
        made.key = created.signingKey;
        return created.id;
      },
    });
    if (made.key !== undefined) return { id, signingKey: made.key || (await this.#swapKey(id)), step: 'created' };
    const found = (await api.emailProvider(id)) ?? (await api.emailProviders()).find((one) => one.id === id);
    return await this.#adopt(found ?? { id, description: DESCRIPTION, endpoint: '', signingKey: null }, known);
  }

  /** The provider with the stored id, else one that sends to this endpoint: from an earlier try whose answer was lost. */
  #pick(providers: readonly EmailProvider[], known: Stored | null): EmailProvider | undefined {
    const here = providers.filter(({ endpoint }) => endpoint === this.#endpoint);
    return (
      providers.find(({ id }) => id === known?.providerId) ??
      here.find(({ description }) => description === DESCRIPTION) ??
      here[0]
    );
  }

  async #adopt(found: EmailProvider, known: Stored | null) {
    const { api } = this.#options;
    const { id } = found;
    const revealed = found.signingKey !== null && SIGNING_KEY.test(found.signingKey) ? found.signingKey : null;
    const signingKey = revealed ?? (known?.providerId === id ? this.#keyOf(known) : null);
    // Nobody has the present key, so replacing it loses nothing: mails signed with it are refused anyway.
    if (signingKey === null) return { id, signingKey: await this.#swapKey(id), step: 'new signing key' };
    if (found.endpoint === this.#endpoint) return { id, signingKey, step: 'found' };
    await api.updateEmailProvider(id, { endpoint: this.#endpoint, description: DESCRIPTION, newKey: false });
    return { id, signingKey, step: 'new endpoint' };
  }

  async #swapKey(id: string): Promise<string> {
    const settings = { endpoint: this.#endpoint, description: DESCRIPTION, newKey: true };
    const key = await this.#options.api.updateEmailProvider(id, settings);
    if (key === null) throw new UsherError('IDP_REJECTED', NO_KEY);
    return key;
  }

  async #activate(stored: Stored, done: Done): Promise<void> {
    try {
      await this.#options.api.activateEmailProvider(stored.providerId);
    } catch (error) {
      if (!hasCode(error, IdpCode.NOT_FOUND)) throw error;
      throw new UsherError(
        'NOT_FOUND',
        'The identity provider no longer has the notification provider: set it up again.',
      );
    }
    if (!stored.active) await this.#store({ ...stored, active: true });
    done({ action: 'notification_provider.activated', subject: stored.providerId });
  }

  get #endpoint(): string {
    return this.#options.config.idp.notificationEndpoint ?? this.#options.publicUrl() + ENDPOINT;
  }

  /** Null without a stored key, or when today's keys do not open it. */
  #keyOf(stored: Stored | null): string | null {
    return stored === null ? null : this.#options.sealing.openText(SIGNING_KEY_CONTEXT, stored.signingKey);
  }

  #stored(): Promise<Stored | null> {
    return this.#options.database.read((tx) => getSetting(tx, PROVIDER_SETTING)).then(readStored);
  }

  async #store(stored: Stored): Promise<void> {
    await this.#options.database.change(async (tx) => {
      await putSetting(tx, PROVIDER_SETTING, stored);
      return { result: null, scopes: [] };
    });
  }
}

function readStored(value: unknown): Stored | null {
  const parsed = Stored.safeParse(value);
  return parsed.success ? parsed.data : null;
}
