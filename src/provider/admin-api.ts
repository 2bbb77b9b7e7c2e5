/**
 * The identity provider's admin API, one method a call. The provider omits zero values (an empty list has
 * no `result`, false is absent) and writes 64-bit numbers as text; unknown members are ignored.
 */

import { z } from 'zod';
import { UsherError } from '../base/errors.ts';
import {
  Apps,
  ChangedEmailProvider,
  EmailProviders,
  LabelPolicy,
  Made,
  Named,
  NewApp,
  NewEmailProvider,
  NewOrganization,
  OneEmailProvider,
  OneOrganization,
  OneUser,
  Organizations,
  Users,
} from './admin-answers.ts';
import { type IdpClient, IdpCode, IdpRefusal, type IdpRequest, unreachable } from './client.ts';

export interface EmailProvider {
  id: string;
  description: string;
  endpoint: string;
  /** Null where the provider withholds it. */
  signingKey: string | null;
}

export interface IdpOrganization {
  id: string;
  name: string;
  state: string;
  primaryDomain: string | null;
}

export interface IdpUser {
  id: string;
  givenName: string;
  familyName: string;
  displayName: string;
}

export interface IdpApp {
  appId: string;
  clientId: string;
}

/** The look of an organization's login pages; `fields` are all of its writable members. */
export interface Label {
  primaryColor: string;
  logoUrl: string | null;
  /** The organization has no look of its own yet. */
  isDefault: boolean;
  fields: Readonly<Record<string, unknown>>;
}

/** The page size of organizations, and a bound on the number of pages. */
const PAGE = 100;
const MAX_PAGES = 100;
const EQUALS = 'TEXT_QUERY_METHOD_EQUALS';
const LABEL = '/management/v1/policies/label';

export class AdminApi {
  readonly #client: IdpClient;

  constructor(client: IdpClient) {
    this.#client = client;
  }

  async emailProviders(): Promise<EmailProvider[]> {
    const { result } = await this.#ask(EmailProviders, {
      method: 'POST',
      path: '/admin/v1/email/_search',
      body: {},
      repeatable: true,
    });
    return result.map(({ id, description, http }) => ({
      id,
      description,
      endpoint: http?.endpoint ?? '',
      signingKey: http?.signingKey || null,
    }));
  }

  /** The one with that id, which shows at once what the search shows later; null without it, undefined where the provider lacks the call. */
  async emailProvider(id: string): Promise<EmailProvider | null | undefined> {
    const path = `/admin/v1/email/${encodeURIComponent(id)}`;
    const found = await this.#byId(OneEmailProvider, { method: 'GET', path });
    if (found === null || found === undefined) return found;
    const { http, description } = found.config;
    return { id: found.config.id, description, endpoint: http?.endpoint ?? '', signingKey: http?.signingKey || null };
  }

  /** Creates it inactive. The provider reveals the key here and never again. */
  async createEmailProvider(settings: { endpoint: string; description: string }): Promise<{
    id: string;
    signingKey: string;
  }> {
    return await this.#ask(NewEmailProvider, { method: 'POST', path: '/admin/v1/email/http', body: settings });
  }

  /** With `newKey` the signing key is replaced at once and returned; otherwise null. An unchanged write is a success. */
  async updateEmailProvider(
    id: string,
    { newKey, ...settings }: { endpoint: string; description: string; newKey: boolean },
  ): Promise<string | null> {
    const body = { ...settings, ...(newKey ? { expirationSigningKey: '0s' } : {}) };
    const path = `/admin/v1/email/http/${encodeURIComponent(id)}`;
    const answer = await unlessUnchanged(this.#ask(ChangedEmailProvider, { method: 'PUT', path, body }));
    return answer?.signingKey || null;
  }

  /** Succeeds for an active one, too. */
  async activateEmailProvider(id: string): Promise<void> {
    const path = `/admin/v1/email/${encodeURIComponent(id)}/_activate`;
    await unlessUnchanged(this.#client.call({ method: 'POST', path, body: {}, repeatable: true }));
  }

  /** The one with that id, as `emailProvider`; through the search where the provider lacks the call. */
  async organization(id: string): Promise<IdpOrganization | null> {
    const path = `/admin/v1/orgs/${encodeURIComponent(id)}`;
    const found = await this.#byId(OneOrganization, { method: 'GET', path });
    if (found === null || found === undefined) return (await this.organizations({ id }))[0] ?? null;
    const { primaryDomain, ...org } = found.org;
    return { ...org, state: org.state.replace(/^ORG_/, 'ORGANIZATION_'), primaryDomain: primaryDomain || null };
  }

  /** All organizations, or those with exactly that id or name. */
  async organizations(wanted: { id?: string; name?: string } = {}): Promise<IdpOrganization[]> {
    const queries = [
      ...(wanted.id === undefined ? [] : [{ idQuery: { id: wanted.id } }]),
      ...(wanted.name === undefined ? [] : [{ nameQuery: { name: wanted.name, method: EQUALS } }]),
    ];
    const all: IdpOrganization[] = [];
    for (let page = 0; page < MAX_PAGES; page++) {
      const { result } = await this.#ask(Organizations, {
        method: 'POST',
        path: '/v2/organizations/_search',
        body: { query: { offset: String(page * PAGE), limit: PAGE, asc: true }, queries },
        repeatable: true,
      });
      all.push(...result.map(({ primaryDomain, ...org }) => ({ ...org, primaryDomain: primaryDomain || null })));
      if (result.length < PAGE) break;
    }
    return all.filter(
      ({ id, name }) => (wanted.id ?? id) === id && (wanted.name ?? name).toLowerCase() === name.toLowerCase(),
    );
  }

  /** Returns the organization's id. ALREADY_EXISTS when the name is taken. */
  async createOrganization(name: string): Promise<string> {
    const answer = await this.#ask(NewOrganization, { method: 'POST', path: '/v2/organizations', body: { name } });
    return answer.organizationId;
  }

  /** Makes the domain the organization's primary one; succeeds where it already is. ALREADY_EXISTS: another organization has it. */
  async setPrimaryDomain(org: string, domain: string): Promise<void> {
    const path = '/management/v1/orgs/me/domains';
    let taken: unknown = null;
    await this.#client.call({ method: 'POST', path, org, body: { domain } }).catch((error: unknown) => {
      if (!hasCode(error, IdpCode.ALREADY_EXISTS)) throw error;
      taken = error;
    });
    const primary = { method: 'POST', path: `${path}/${encodeURIComponent(domain)}/_set_primary`, org } as const;
    try {
      await this.#client.call({ ...primary, body: {}, repeatable: true });
    } catch (error) {
      if (!(error instanceof IdpRefusal)) throw error;
      // The organization does not have it, because another one has.
      if (error.idpCode === IdpCode.NOT_FOUND) throw taken ?? error;
      // One code for two cases: it is the primary domain already, or it is not verified.
      if (error.idpCode !== IdpCode.FAILED_PRECONDITION) throw error;
      if ((await this.organization(org))?.primaryDomain === domain) return;
      throw new UsherError(
        'IDP_REJECTED',
        `The organization does not have ${domain} as its domain yet: the identity provider wants it verified. Prove it there by DNS, then repeat this. (${error.message})`,
        { details: { idp: error.details?.idp } },
      );
    }
  }

  async label(org: string): Promise<Label> {
    // The stored one: another call shows the published one only, and says "default" of a look that was stored and never published.
    const stored = await this.#byId(LabelPolicy, { method: 'GET', path: `${LABEL}/_preview`, org });
    const { policy, isDefault } = stored ?? (await this.#ask(LabelPolicy, { method: 'GET', path: LABEL, org }));
    const fields = Object.entries(policy).filter(([name]) => !READ_ONLY_LABEL.test(name));
    return {
      primaryColor: policy.primaryColor,
      logoUrl: policy.logoUrl || null,
      isDefault: isDefault || policy.isDefault,
      fields: Object.fromEntries(fields),
    };
  }

  /** Writes the whole look: omitted fields are reset. An unchanged write is a success, and so is one that was made already. */
  async putLabel(org: string, fields: Label['fields'], isNew: boolean): Promise<void> {
    const write = (method: 'POST' | 'PUT') =>
      unlessUnchanged(this.#client.call({ method, path: LABEL, org, body: fields, repeatable: method === 'PUT' }));
    try {
      await write(isNew ? 'POST' : 'PUT');
    } catch (error) {
      const otherwise = hasCode(error, isNew ? IdpCode.ALREADY_EXISTS : IdpCode.NOT_FOUND);
      if (!otherwise) throw error;
      await write(isNew ? 'PUT' : 'POST');
    }
  }

  async uploadLogo(org: string, file: NonNullable<IdpRequest['file']>): Promise<void> {
    await this.#client.call({ method: 'POST', path: '/assets/v1/org/policy/label/logo', org, file, repeatable: true });
  }

  /** Publishes the look that was written. */
  async activateLabel(org: string): Promise<void> {
    const path = `${LABEL}/_activate`;
    await unlessUnchanged(this.#client.call({ method: 'POST', path, org, body: {}, repeatable: true }));
  }

  /** The id of the project with exactly that name; null without one, undefined when the provider does not support the search. */
  async findProject(org: string, name: string): Promise<string | null | undefined> {
    const found = await this.#search(Named, '/management/v1/projects/_search', org, name);
    return found?.result.find((project) => project.name === name)?.id ?? (found === undefined ? undefined : null);
  }

  async createProject(org: string, name: string): Promise<string> {
    return (await this.#ask(Made, { method: 'POST', path: '/management/v1/projects', org, body: { name } })).id;
  }

  /** Like `findProject`. */
  async findApp(org: string, project: string, name: string): Promise<IdpApp | null | undefined> {
    const found = await this.#search(Apps, `${appsOf(project)}/_search`, org, name);
    if (found === undefined) return undefined;
    const app = found.result.find((one) => one.name === name);
    if (app === undefined) return null;
    if (app.oidcConfig === undefined || app.oidcConfig.clientId === '') {
      throw new UsherError(
        'ALREADY_EXISTS',
        `The project already has an application ${name}, and it is not an OpenID Connect client.`,
      );
    }
    return { appId: app.id, clientId: app.oidcConfig.clientId };
  }

  /** A public client in a browser: code flow with PKCE, and signed access tokens with the user's identity. */
  async createApp(
    org: string,
    project: string,
    app: { name: string; redirectUris: readonly string[] },
  ): Promise<IdpApp> {
    const body = {
      ...app,
      responseTypes: ['OIDC_RESPONSE_TYPE_CODE'],
      grantTypes: ['OIDC_GRANT_TYPE_AUTHORIZATION_CODE', 'OIDC_GRANT_TYPE_REFRESH_TOKEN'],
      appType: 'OIDC_APP_TYPE_USER_AGENT',
      authMethodType: 'OIDC_AUTH_METHOD_TYPE_NONE',
      // The provider accepts cleartext redirects in this mode only.
      ...(app.redirectUris.some((uri) => uri.startsWith('http:')) ? { devMode: true } : {}),
      accessTokenType: 'OIDC_TOKEN_TYPE_JWT',
      idTokenUserinfoAssertion: true,
    };
    return await this.#ask(NewApp, { method: 'POST', path: `${appsOf(project)}/oidc`, org, body });
  }

  /** The person with that id; null for an unknown one and for a machine. Its address is as the provider writes it. */
  async user(id: string): Promise<(IdpUser & { email: string; state: string; orgId: string }) | null> {
    const path = `/v2/users/${encodeURIComponent(id)}`;
    const found = await this.#byId(OneUser, { method: 'GET', path });
    const human = found?.user.human;
    if (found === null || found === undefined || human === undefined) return null;
    const { givenName = '', familyName = '', displayName = '' } = human.profile ?? {};
    const { userId, state, details } = found.user;
    const orgId = details?.resourceOwner ?? '';
    return { id: userId, givenName, familyName, displayName, email: human.email?.email ?? '', state, orgId };
  }

  /** The user with that address, or null. */
  async findUser(email: string): Promise<IdpUser | null> {
    const emailQuery = { emailAddress: email, method: 'TEXT_QUERY_METHOD_EQUALS_IGNORE_CASE' };
    const body = { queries: [{ emailQuery }] };
    const { result } = await this.#ask(Users, { method: 'POST', path: '/v2/users', body, repeatable: true });
    const [user, another] = result.filter(({ human }) => human?.email?.email.toLowerCase() === email);
    if (another !== undefined) {
      throw new UsherError('IDP_REJECTED', 'The identity provider has several users with this address.');
    }
    if (user === undefined) return null;
    const { givenName = '', familyName = '', displayName = '' } = user.human?.profile ?? {};
    return { id: user.userId, givenName, familyName, displayName };
  }

  /** An unchanged write is a success. */
  async setNames({ id, ...profile }: IdpUser): Promise<void> {
    const path = `/v2/users/human/${encodeURIComponent(id)}`;
    await unlessUnchanged(this.#client.call({ method: 'PUT', path, body: { profile }, repeatable: true }));
  }

  /** Whether the project is there; undefined where the provider lacks the call. */
  async hasProject(org: string, project: string): Promise<boolean | undefined> {
    const path = `/management/v1/projects/${encodeURIComponent(project)}`;
    return isThere(await this.#byId(z.unknown(), { method: 'GET', path, org }));
  }

  /** As `hasProject`. */
  async hasApp(org: string, project: string, app: string): Promise<boolean | undefined> {
    const path = `${appsOf(project)}/${encodeURIComponent(app)}`;
    return isThere(await this.#byId(z.unknown(), { method: 'GET', path, org }));
  }

  /** Null for an unknown id; undefined where the provider lacks the call. */
  async #byId<S extends z.ZodType>(schema: S, request: IdpRequest): Promise<z.output<S> | null | undefined> {
    try {
      return await this.#ask(schema, request);
    } catch (error) {
      if (!(error instanceof IdpRefusal) || !UNKNOWN_PATH.has(error.idpStatus)) throw error;
      // A path that is not there has an error of the gateway, without an id in its words.
      return error.idpStatus === 404 && /\([A-Z][A-Za-z0-9]*-[A-Za-z0-9]+\)/.test(error.message) ? null : undefined;
    }
  }

  async #ask<S extends z.ZodType>(schema: S, request: IdpRequest): Promise<z.output<S>> {
    return parsed(schema, await this.#client.call(request));
  }

  async #search<S extends z.ZodType>(
    schema: S,
    path: string,
    org: string,
    name: string,
  ): Promise<z.output<S> | undefined> {
    const body = { queries: [{ nameQuery: { name, method: EQUALS } }] };
    try {
      return await this.#ask(schema, { method: 'POST', path, org, body, repeatable: true });
    } catch (error) {
      if (error instanceof IdpRefusal && UNKNOWN_PATH.has(error.idpStatus)) return undefined;
      throw error;
    }
  }
}

/** Statuses of an installation that lacks this part of the API, or of a proxy that hides it. */
const UNKNOWN_PATH: ReadonlySet<number> = new Set([404, 405, 501]);

/** Links into the provider's assets, and members that it sets itself. */
const READ_ONLY_LABEL = /^(?:.*Url|.*UrlDark|isDefault|details)$/;

function isThere(found: unknown): boolean | undefined {
  return found === undefined ? undefined : found !== null;
}

function appsOf(project: string): string {
  return `/management/v1/projects/${encodeURIComponent(project)}/apps`;
}

/** The answer by its schema. Throws IDP_UNREACHABLE for one that does not fit. */
export function parsed<S extends z.ZodType>(schema: S, answer: unknown): z.output<S> {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  // Not a refusal: whether the provider acted on the request is unknown, as after a lost answer.
  const where = result.error.issues[0]?.path.join('.') || 'as a whole';
  throw unreachable(`its answer is invalid (${where})`);
}

export function hasCode(error: unknown, code: number): error is IdpRefusal {
  return error instanceof IdpRefusal && error.idpCode === code;
}

/** The answer, or undefined where the provider reports that nothing changed. */
async function unlessUnchanged<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (hasCode(error, IdpCode.FAILED_PRECONDITION)) return undefined;
    throw error;
  }
}
