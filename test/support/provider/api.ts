/** The admin API of the double, by path (facts: identity provider, section 2 and its traps). */

import { randomBytes } from 'node:crypto';

import { ACTION_HANDLERS } from './actions.ts';
import { EMAIL_PROVIDER_HANDLERS } from './email-providers.ts';
import { LABEL_HANDLERS } from './labels.ts';
import { ApiError, type IdpState, newId, type OrgRow, type UserRow } from './state.ts';

export interface ApiRequest {
  method: string;
  path: string;
  org: string | null;
  body: unknown;
}

export interface ApiAnswer {
  status?: number;
  body: unknown;
}

export type Body = Record<string, unknown>;
export type Handler = (state: IdpState, body: Body, parts: string[], request: ApiRequest) => ApiAnswer;

export const details = {
  sequence: '42',
  creationDate: '2026-08-09T11:39:03.765691Z',
  changeDate: '2026-08-09T11:39:03.765691Z',
  resourceOwner: '100',
};

/** What the provider answers. Throws ApiError. */
export function answerOf(state: IdpState, request: ApiRequest): ApiAnswer {
  for (const [method, pattern, handler] of HANDLERS) {
    const match = request.method === method ? pattern.exec(request.path) : null;
    if (match) return handler(state, request.body as Body, match.slice(1).map(decodeURIComponent), request);
  }
  throw new ApiError(5, 'Not Found');
}

const HANDLERS: readonly (readonly [string, RegExp, Handler])[] = [
  ...EMAIL_PROVIDER_HANDLERS,
  ['POST', /^\/v2\/organizations\/_search$/, searchOrganizations],
  ['POST', /^\/v2\/organizations$/, createOrganization],
  ['GET', /^\/admin\/v1\/orgs\/([^/]+)$/, readOrganization],
  ['POST', /^\/management\/v1\/orgs\/me\/domains$/, addDomain],
  ['POST', /^\/management\/v1\/orgs\/me\/domains\/([^/]+)\/_set_primary$/, setPrimary],
  ...LABEL_HANDLERS,
  ['POST', /^\/management\/v1\/projects\/_search$/, searchProjects],
  ['POST', /^\/management\/v1\/projects$/, createProject],
  ['GET', /^\/management\/v1\/projects\/([^/]+)$/, readProject],
  ['POST', /^\/management\/v1\/projects\/([^/]+)\/apps\/_search$/, searchApps],
  ['POST', /^\/management\/v1\/projects\/([^/]+)\/apps\/oidc$/, createApp],
  ['GET', /^\/management\/v1\/projects\/([^/]+)\/apps\/([^/]+)$/, readApp],
  ['POST', /^\/v2\/users$/, searchUsers],
  ...ACTION_HANDLERS,
  ['GET', /^\/v2\/users\/([^/]+)$/, readUser],
  ['PUT', /^\/v2\/users\/human\/([^/]+)$/, updateUser],
];

/** Rows that a search shows: projections lag behind writes. */
export function settled<Row extends object>({ searchLagMs, madeAt }: IdpState, rows: readonly Row[]): Row[] {
  const now = Date.now();
  return rows.filter((row) => (madeAt.get(row) ?? 0) <= now - searchLagMs);
}

/** Addresses that the provider's HTTPClient.DenyList refuses by default. */
export function refuseDenied({ deniesPrivate }: IdpState, endpoint: string, message: string): void {
  if (deniesPrivate && /^https?:\/\/(?:localhost|127\.|10\.|192\.168\.|100\.64\.|\[::1\])/.test(endpoint))
    throw new ApiError(3, message);
}

export function newKey(): string {
  return randomBytes(40)
    .toString('base64')
    .replaceAll(/[^A-Za-z0-9]/g, 'x')
    .slice(0, 36);
}

function searchOrganizations(state: IdpState, body: Body): ApiAnswer {
  const { offset = '0', limit = 100 } = (body.query ?? {}) as { offset?: string; limit?: number };
  const queries = (body.queries ?? []) as Record<string, Record<string, string>>[];
  const found = settled(state, state.orgs).filter((org) =>
    queries.every(
      ({ idQuery, nameQuery }) =>
        (idQuery === undefined || idQuery.id === org.id) && (nameQuery === undefined || nameQuery.name === org.name),
    ),
  );
  const page = found.slice(Number(offset), Number(offset) + limit);
  return {
    body: {
      details: { totalResult: String(found.length) },
      result: page.map(({ id, name, primaryDomain }) => ({
        id,
        details,
        state: 'ORGANIZATION_STATE_ACTIVE',
        name,
        primaryDomain,
      })),
    },
  };
}

function createOrganization(state: IdpState, { name }: Body): ApiAnswer {
  const wanted = required(name, 'name');
  if (state.orgs.some((org) => org.name.toLowerCase() === wanted.toLowerCase())) {
    throw new ApiError(6, "Organisation's name or id already taken (V3-DKcYh)");
  }
  const id = newId();
  const primaryDomain = `${wanted.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.idp.test`;
  const org: OrgRow = {
    id,
    name: wanted,
    domains: new Set([primaryDomain]),
    primaryDomain,
    label: null,
    shown: null,
    logo: null,
  };
  state.orgs.push(org);
  state.madeAt.set(org, Date.now());
  return { status: 201, body: { details, organizationId: id } };
}

function readOrganization(state: IdpState, _body: Body, [id]: string[]): ApiAnswer {
  const { name, primaryDomain } = present(
    state.orgs.find((one) => one.id === id),
    'Organisation not found (QUERY-iTTGJ)',
  );
  return { body: { org: { id, details, state: 'ORG_STATE_ACTIVE', name, primaryDomain } } };
}

function addDomain(state: IdpState, { domain }: Body, _parts: string[], request: ApiRequest): ApiAnswer {
  const org = scoped(state, request);
  const wanted = required(domain, 'domain');
  if (org.domains.has(wanted)) throw new ApiError(6, 'Errors.Already.Exists (V2-e1wse)');
  if (state.orgs.some(({ domains }) => domains.has(wanted))) {
    throw new ApiError(6, 'Domain already exists (V3-DKcYh)');
  }
  org.domains.add(wanted);
  return { body: { details } };
}

function setPrimary(state: IdpState, _body: Body, [domain = '']: string[], request: ApiRequest): ApiAnswer {
  const org = scoped(state, request);
  if (!org.domains.has(domain)) throw new ApiError(5, "Domain doesn't exist on organisation (ORG-GDfA3)");
  if (state.validateOrgDomains && !state.verified.has(domain))
    throw new ApiError(9, 'Domain is not verified (ORG-Ggd32)');
  org.primaryDomain = domain;
  return { body: { details } };
}

function searchProjects(state: IdpState, body: Body, _parts: string[], request: ApiRequest): ApiAnswer {
  const org = scoped(state, request);
  const found = settled(state, state.projects).filter(
    (project) => project.org === org.id && fitsName(body, project.name),
  );
  return {
    body: { details: {}, result: found.map(({ id, name }) => ({ id, details, name, state: 'PROJECT_STATE_ACTIVE' })) },
  };
}

function createProject(state: IdpState, { name }: Body, _parts: string[], request: ApiRequest): ApiAnswer {
  const org = scoped(state, request);
  const wanted = required(name, 'name');
  if (state.projects.some((project) => project.org === org.id && project.name === wanted)) {
    throw new ApiError(6, 'Project already exists on organisation (V3-DKcYh)');
  }
  const project = { id: newId(), org: org.id, name: wanted };
  state.projects.push(project);
  state.madeAt.set(project, Date.now());
  return { body: { id: project.id, details } };
}

function readProject(state: IdpState, _body: Body, [id]: string[], request: ApiRequest): ApiAnswer {
  const org = scoped(state, request);
  const project = present(
    state.projects.find((one) => one.id === id && one.org === org.id),
    'Project could not be found (QUERY-fk2fs)',
  );
  return { body: { project: { id, details, name: project.name, state: 'PROJECT_STATE_ACTIVE' } } };
}

function readApp(state: IdpState, _body: Body, [project, id]: string[]): ApiAnswer {
  const app = present(
    state.apps.find((one) => one.id === id && one.project === project),
    'Application could not be found (QUERY-pCP8P)',
  );
  return { body: { app: { id, name: app.name, oidcConfig: { ...app.config, clientId: app.clientId } } } };
}

function searchApps(state: IdpState, body: Body, [project]: string[]): ApiAnswer {
  const found = settled(state, state.apps).filter((app) => app.project === project && fitsName(body, app.name));
  return {
    body: {
      details: {},
      result: found.map(({ id, name, clientId, config }) => ({ id, name, oidcConfig: { ...config, clientId } })),
    },
  };
}

function createApp(state: IdpState, { name, ...config }: Body, [id]: string[], request: ApiRequest): ApiAnswer {
  const org = scoped(state, request);
  const project = present(
    state.projects.find((one) => one.id === id && one.org === org.id),
    'Project could not be found (PROJECT-AF4hf)',
  );
  const wanted = required(name, 'name');
  if (state.apps.some((app) => app.project === project.id && app.name === wanted)) {
    throw new ApiError(6, 'Application already exists (PROJECT-wrqwe)');
  }
  const uris = config.redirectUris as string[];
  if (config.devMode !== true && uris.some((uri) => uri.startsWith('http:'))) {
    throw new ApiError(3, 'http redirect is not allowed (APP-dms30)');
  }
  const app = { id: newId(), project: project.id, name: wanted, clientId: newId(), config };
  state.apps.push(app);
  state.madeAt.set(app, Date.now());
  const faults = config.devMode === true && uris.some((uri) => uri.startsWith('http:')) ? CLEARTEXT_FAULTS : [];
  return {
    body: {
      appId: app.id,
      clientId: app.clientId,
      details,
      noneCompliant: faults.length > 0,
      complianceProblems: faults,
    },
  };
}

/** Taken all the same; of the kind that the provider's console shows as warnings. */
const CLEARTEXT_FAULTS = [
  {
    key: 'Application.OIDC.V1.NotCompliant',
    localizedMessage: 'Your configuration is not compliant and differs from OIDC 1.0 standard.',
  },
  {
    key: 'Application.OIDC.V1.NotCompliant',
    localizedMessage: 'Your configuration is not compliant and differs from OIDC 1.0 standard.',
  },
  {
    key: 'Application.OIDC.V1.Code.RedirectUris.HttpOnlyForWeb',
    localizedMessage: 'Grant type "code" only allows http redirect uris for apptype "web".',
  },
];

function searchUsers(state: IdpState, body: Body): ApiAnswer {
  const { offset = '0', limit = 100 } = (body.query ?? {}) as { offset?: string; limit?: number };
  if (limit > 1000) throw new ApiError(3, 'Limit is too big (QUERY-4M0fs)');
  const queries = (body.queries ?? []) as { emailQuery?: { emailAddress: string; method: string } }[];
  const wanted = queries.map(({ emailQuery }) => emailQuery?.emailAddress.toLowerCase());
  const found = state.users.filter(
    ({ email, machine }) => wanted.length === 0 || (!machine && wanted.every((at) => at === email.toLowerCase())),
  );
  // The order is the caller's: without one the provider promises none.
  const ordered = body.sortingColumn === undefined ? found.toReversed() : found;
  const page = ordered.slice(Number(offset), Number(offset) + limit);
  return {
    body: {
      details: { totalResult: String(found.length), timestamp: details.changeDate },
      result: page.map(shownUser),
    },
  };
}

function shownUser({ id, email, profile, machine, ...user }: UserRow) {
  return {
    userId: id,
    details: {
      ...details,
      changeDate: user.changedAt ?? details.changeDate,
      resourceOwner: user.org ?? details.resourceOwner,
      creationDate: user.createdAt ?? '2026-01-01T08:00:00.123456Z',
    },
    state: user.state ?? 'USER_STATE_ACTIVE',
    ...(machine ? { machine: { name: 'a service' } } : { human: { profile, email: { email, isVerified: true } } }),
  };
}

function readUser(state: IdpState, _body: Body, [id]: string[]): ApiAnswer {
  const user = present(
    state.users.find((one) => one.id === id),
    'User could not be found (QUERY-Dfbg2)',
  );
  return { body: { details, user: shownUser(user) } };
}

function updateUser(state: IdpState, body: Body, [id]: string[]): ApiAnswer {
  const user = present(
    state.users.find((one) => one.id === id),
    'User could not be found (QUERY-Dfbg2)',
  );
  const { givenName, familyName, displayName = '' } = (body.profile ?? {}) as Record<string, string>;
  user.profile = {
    givenName: requiredName(givenName, 'GivenName'),
    familyName: requiredName(familyName, 'FamilyName'),
    displayName,
  };
  return { body: { details } };
}

function fitsName(body: Body, name: string): boolean {
  const queries = (body.queries ?? []) as { nameQuery?: { name: string } }[];
  return queries.every(({ nameQuery }) => nameQuery === undefined || nameQuery.name === name);
}

/** The organization that a management call is about. */
export function scoped(state: IdpState, { org }: ApiRequest): OrgRow {
  if (org === null) throw new ApiError(3, 'this double has no default organization: send x-zitadel-orgid');
  return present(
    state.orgs.find(({ id }) => id === org),
    'Organisation not found (QUERY-1SCm3)',
  );
}

export function present<T>(value: T | undefined, message: string): T {
  if (value === undefined) throw new ApiError(5, message);
  return value;
}

export function required(value: unknown, field: string): string {
  if (typeof value !== 'string' || value === '' || Array.from(value).length > 200) {
    throw new ApiError(3, `invalid ${field}: value length must be between 1 and 200 runes, inclusive`);
  }
  return value;
}

/** As the provider's generated checks put it. */
function requiredName(value: unknown, field: string): string {
  try {
    return required(value, field);
  } catch {
    const why = `invalid SetHumanProfile.${field}: value length must be between 1 and 200 runes, inclusive`;
    throw new ApiError(
      3,
      `invalid UpdateHumanUserRequest.Profile: embedded message failed validation | caused by: ${why}`,
    );
  }
}
