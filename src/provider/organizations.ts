/** Organizations of the identity provider: listing, creation, appearance, and the client of an application (docs/reference/identity-provider.md#organizations). */

import { applicationOf, type By, type Change } from '../administration/administer.ts';
import type { Clock } from '../base/clock.ts';
import { UsherError, validationFailed } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Database, Tx } from '../persistence/database.ts';
import { keepOrganization } from '../persistence/provider/organizations.ts';
import { dropSetting, getSetting, putSetting } from '../persistence/settings.ts';
import type { AdminApi, IdpApp, IdpOrganization } from './admin-api.ts';
import { administerProvider, type Done, ProviderLocks } from './administration.ts';
import { type IdpClient, IdpCode, IdpRefusal } from './client.ts';
import { fetchLogo, type Logo } from './logo.ts';
import { Making, search } from './making.ts';

export type { IdpOrganization } from './admin-api.ts';

interface Branding {
  orgId: string;
  primaryColor: string | null;
  /** Where the provider stores the logo; null without one. */
  logoUrl: string | null;
}

interface NewClient {
  projectName: string;
  appName: string;
  redirectUris: readonly string[];
  /** The application in Usher that the organization belongs to. */
  userApiAppCode: string;
}

interface MadeClient {
  projectId: string;
  appId: string;
  clientId: string;
}

interface OrganizationsOptions {
  readonly config: Pick<Config, 'production' | 'idp'>;
  readonly client: IdpClient;
  readonly api: AdminApi;
  readonly outbound: Outbound;
  readonly database: Database;
  readonly clock: Pick<Clock, 'bytes' | 'monotonic'>;
}

export class Organizations {
  readonly #options: OrganizationsOptions;
  readonly #locks: ProviderLocks;
  readonly #making: Making;

  constructor(options: OrganizationsOptions) {
    this.#options = options;
    this.#making = new Making(options.database);
    this.#locks = new ProviderLocks(options);
  }

  async list(): Promise<IdpOrganization[]> {
    return await this.#options.api.organizations();
  }

  /**
   * ALREADY_EXISTS when name or domain is taken. Completes an organization that an earlier try created without reaching its
   * domain.
   */
  async create({ name, domain }: { name: string; domain: string }, by: By): Promise<IdpOrganization> {
    const write = { action: 'organization.created', act: 'create organizations' };
    return await this.#administer(by, write, `name:${name.toLowerCase()}`, async (done) => {
      const { api } = this.#options;
      const unfinished = `idp.organization-underway:${name.toLowerCase()}`;
      const id = await this.#make(name, unfinished, done);
      await api.setPrimaryDomain(id, domain);
      done({ action: 'organization.domain_set', subject: id, after: { domain } });
      const made = await api.organization(id);
      // The last step: a caller who hears of a failure before this may repeat it, and is not told that it exists.
      await this.#change((tx) => dropSetting(tx, unfinished));
      return { id, name, state: made?.state || 'ORGANIZATION_STATE_ACTIVE', primaryDomain: domain };
    });
  }

  /** The id of a new organization, or of one that an earlier try made and could not complete. */
  async #make(name: string, unfinished: string, done: Done): Promise<string> {
    const { api, database } = this.#options;
    // `true`: an earlier try ended without an answer.
    const left = await database.read((tx) => getSetting(tx, unfinished));
    if (typeof left === 'string' && (await api.organization(left)) !== null) return left;
    await this.#change((tx) => putSetting(tx, unfinished, true));
    try {
      const id = await api.createOrganization(name);
      await this.#change((tx) => putSetting(tx, unfinished, id));
      done({ action: 'organization.created', subject: id, after: { name } });
      return id;
    } catch (error) {
      // Without an answer it may exist now. A refusal means that at least this try did not create it.
      if (!(error instanceof IdpRefusal)) throw error;
      if (error.idpCode === IdpCode.ALREADY_EXISTS && left === true) {
        const found = await search(async () => (await api.organizations({ name }))[0] ?? null, true);
        if (found !== null && found !== undefined) {
          await this.#change((tx) => putSetting(tx, unfinished, found.id));
          return found.id;
        }
      } else if (left !== true) {
        await this.#change((tx) => dropSetting(tx, unfinished));
      }
      throw error;
    }
  }

  /** Writes and publishes the given fields. NOT_FOUND for an unknown organization, VALIDATION_FAILED for an invalid logo. */
  async brand(
    orgId: string,
    { primaryColor, logoUrl }: { primaryColor?: string | undefined; logoUrl?: string | undefined },
    by: By,
  ): Promise<Branding> {
    const { api, outbound, config } = this.#options;
    const write = { action: 'organization.branded', act: 'change how organizations look' };
    return await this.#administer(by, write, orgId, async (done) => {
      await this.#refuseUnknown(orgId);
      // Before anything is written: a logo that cannot be fetched changes nothing.
      const logo = logoUrl === undefined ? null : await fetchLogo(outbound, logoUrl, config.production);
      await this.#writeLabel(orgId, primaryColor, logo);
      done(branded(orgId, primaryColor, logoUrl));
      const { primaryColor: color, logoUrl: kept } = await api.label(orgId);
      return { orgId, primaryColor: (primaryColor ?? color) || null, logoUrl: kept };
    });
  }

  async #writeLabel(orgId: string, primaryColor: string | undefined, logo: Logo | null): Promise<void> {
    const { api } = this.#options;
    const label = await api.label(orgId);
    // The provider accepts a logo only for an organization with a look of its own.
    if (label.isDefault || primaryColor !== undefined) {
      const fields = primaryColor === undefined ? label.fields : { ...label.fields, primaryColor };
      await api.putLabel(orgId, fields, label.isDefault);
    }
    if (logo !== null) await api.uploadLogo(orgId, logo);
    await api.activateLabel(orgId);
  }

  /**
   * Project and client for an application, each found by name or created. UNKNOWN_REFERENCE for the application, NOT_FOUND
   * for the organization, ORGANIZATION_CONFIGURED where the configuration assigns another application. An existing client stays
   * unchanged.
   */
  async setUp(orgId: string, wanted: NewClient, by: By): Promise<MadeClient> {
    const { userApiAppCode: app } = wanted;
    const write = { action: 'organization.set_up', act: 'set up organizations', app };
    return await this.#administer(by, write, orgId, async (done) => {
      this.#refuseCleartext(wanted.redirectUris);
      this.#refuseConfigured(orgId, app);
      await this.#change((tx) => referenced(tx, app));
      await this.#refuseUnknown(orgId);
      const projectId = await this.#project(orgId, wanted.projectName, done);
      const client = await this.#client(orgId, projectId, wanted, done);
      await this.#change(async (tx) => await keepOrganization(tx, orgId, await referenced(tx, app)));
      const made = { projectId, ...client };
      done({ action: 'organization.set_up', subject: orgId, after: { ...made, userApiAppCode: app } });
      return made;
    });
  }

  async #project(orgId: string, name: string, done: Done): Promise<string> {
    const { api } = this.#options;
    return await this.#making.once<string>(`${orgId}:project:${name}`, {
      isThere: (id) => api.hasProject(orgId, id),
      find: () => api.findProject(orgId, name),
      make: async () => {
        const id = await api.createProject(orgId, name);
        done({ action: 'organization.project_created', subject: orgId, after: { projectId: id, name } });
        return id;
      },
    });
  }

  async #client(orgId: string, projectId: string, wanted: NewClient, done: Done): Promise<IdpApp> {
    const { api } = this.#options;
    const { appName: name, redirectUris } = wanted;
    return await this.#making.once<IdpApp>(`${orgId}:app:${projectId}:${name}`, {
      isThere: ({ appId }) => api.hasApp(orgId, projectId, appId),
      find: () => api.findApp(orgId, projectId, name),
      make: async () => {
        const app = await api.createApp(orgId, projectId, { name, redirectUris });
        done({ action: 'organization.client_created', subject: orgId, after: { ...app, name, redirectUris } });
        return app;
      },
    });
  }

  /** The configuration takes precedence over stored assignments: another application would never be used. */
  #refuseConfigured(orgId: string, app: string): void {
    const configured = this.#options.config.idp.orgToApp.get(orgId);
    if (configured === undefined || configured === app) return;
    throw new UsherError(
      'ORGANIZATION_CONFIGURED',
      `userApiAppCode: idp.orgToApp (IDP_ORG_TO_APP) assigns this organization to ${configured}; change it there, or send ${configured}.`,
      { details: { path: 'userApiAppCode', configured } },
    );
  }

  /** In production a code must not travel in cleartext (docs/reference/names.md#urls). */
  #refuseCleartext(uris: readonly string[]): void {
    if (!this.#options.config.production) return;
    const issues = uris.flatMap((uri, index) =>
      uri.startsWith('https:') ? [] : [{ path: `redirectUris.${index}`, message: 'must begin with https://' }],
    );
    if (issues.length > 0) throw validationFailed(issues);
  }

  /** A management call for an unknown organization would act on the provider's own. */
  async #refuseUnknown(orgId: string): Promise<void> {
    if ((await this.#options.api.organization(orgId)) === null)
      throw new UsherError('NOT_FOUND', 'The identity provider has no organization with this id.');
  }

  async #administer<T>(
    by: By,
    write: { action: string; act: string; app?: string },
    thing: string,
    work: (done: Done) => Promise<T>,
  ): Promise<T> {
    const { database, client } = this.#options;
    return await administerProvider(database, by, write, async (done) => {
      client.refuseUnconfigured();
      return await this.#locks.hold(`org:${thing}`, () => work(done));
    });
  }

  async #change<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    const { result } = await this.#options.database.change(async (tx) => ({ result: await fn(tx), scopes: [] }));
    return result;
  }
}

function branded(orgId: string, primaryColor: string | undefined, logoUrl: string | undefined): Change {
  return { action: 'organization.branded', subject: orgId, after: { primaryColor, logoUrl } };
}

async function referenced(tx: Tx, app: string): Promise<number> {
  try {
    return await applicationOf(tx, app);
  } catch (error) {
    if (!(error instanceof UsherError) || error.code !== 'NOT_FOUND') throw error;
    throw new UsherError('UNKNOWN_REFERENCE', 'userApiAppCode is not an application.', {
      details: { path: 'userApiAppCode' },
    });
  }
}
