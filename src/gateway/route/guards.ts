/**
 * Who may call a route, as values. A guard decides before the body is read; it documents itself in OpenAPI and can be
 * enumerated, so that the authorisation matrix is made from the routes. (docs/reference/administration.md#guards.)
 *
 * Guards ask the cached engine. For reads that is the decision. For administrative writes it is the first gate only:
 * the write decides again on rows of its own transaction, so a revoked administrator's next write fails.
 */

import { managedResource, PANEL_APP, PANEL_ENTRY, PANEL_MANAGE } from '../../administration/panel.ts';
import { type ErrorCode, type Reason, UsherError } from '../../base/errors.ts';
import { isApplicationCode } from '../../base/grammar.ts';
import { Level, type PersonFacts, type Question } from '../../engine/types.ts';
import { type KeyHolder, type KeyScope, OPEN_WITHOUT_KEYS } from '../../identity/api-keys.ts';
import type { Caller } from '../../identity/tokens.ts';
import { refuseForeignHost } from '../middleware/local-host.ts';
import type { Services } from '../services.ts';

/** What a guard sees of a request. Parameters are decoded but not yet checked. */
export interface GuardRequest {
  header(name: string): string | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

export type GuardKind =
  | 'open'
  | 'key'
  | 'signature'
  | 'webhookSecret'
  | 'signedIn'
  | 'superAdmin'
  | 'panelEntry'
  | 'anyAdministrator'
  | 'managerOfAll'
  | 'applicationLevel';

export interface Guard<C> {
  readonly kind: GuardKind;
  /** Unique and readable: `key(check)`, `applicationLevel(edit)`. */
  readonly name: string;
  /** One sentence for the document. */
  readonly description: string;
  /** The OpenAPI security scheme that it takes; null where it takes none. */
  readonly scheme: 'bearer' | 'internalKey' | 'webhookSecret' | null;
  /** Another scheme that it takes in place of that one. */
  readonly alternative?: 'internalKey';
  /** What it refuses with. */
  readonly errors: readonly (Reason | ErrorCode)[];
  /** Key surfaces are not for browsers: an `Origin` other than publicUrl's is refused (docs/reference/callers.md#internal-keys). */
  readonly browsers: boolean;
  /** The same for callers of one kind, where a guard lets several kinds in. */
  refusesBrowsers?(caller: C): boolean;
  /** Whom the call comes from; throws 401 (or 503). Synchronous where it can be: checks are hot. */
  identify(services: Services, request: GuardRequest): C | Promise<C>;
  /**
   * Whether that caller may; throws 403 (or 503). Left out where whoever is identified may; undefined where that is known in
   * this turn: checks are hot.
   */
  permit?(services: Services, request: GuardRequest, caller: C): Promise<unknown> | undefined;
  /** For audit records and rate limits: `user:<email>`, `key:<name>`; null for nobody in particular. */
  actor(caller: C): string | null;
}

export const KEY_HEADER = 'x-internal-api-key';
const WEBHOOK_HEADER = 'x-webhook-secret';
/** What a 401 asks for on the surfaces of keys. */
export const KEY_CHALLENGE = `ApiKey realm="usher", header="${KEY_HEADER}"`;

/** Anybody. */
export const open: Guard<null> = {
  kind: 'open',
  name: 'open',
  description: 'Needs no credentials.',
  scheme: null,
  errors: [],
  browsers: true,
  identify: () => null,
  actor: () => null,
};

const keyActor = (holder: KeyHolder | null): string | null => (holder === null ? null : `key:${holder.name}`);

/** Whoever needs no key, in development, needs to be on this machine. */
function onlyLocally(_services: Services, request: GuardRequest, holder: KeyHolder | null): undefined {
  if (holder === null) refuseForeignHost(request.header('host'));
}

/** Whether a call brings a secret that somebody may be guessing. */
export function bringsSecret(request: Pick<GuardRequest, 'header'>): boolean {
  return request.header(KEY_HEADER) !== undefined || request.header(WEBHOOK_HEADER) !== undefined;
}

/** Without configured keys (development on loopback) only some scopes are open. */
function whereNoneIsConfigured(scope: KeyScope): string {
  return OPEN_WITHOUT_KEYS.has(scope)
    ? ' where keys are configured'
    : '; without configured keys that of `dataDir/internal-api-key`';
}

/** A backend with an internal API key of that scope; nobody in particular where none is configured (docs/reference/callers.md#internal-keys). */
export function key(scope: KeyScope): Guard<KeyHolder | null> {
  return {
    kind: 'key',
    name: `key(${scope})`,
    description: `Needs an internal API key with the scope \`${scope}\`${whereNoneIsConfigured(scope)}. Not for browsers.`,
    scheme: 'internalKey',
    errors: ['UNAUTHENTICATED', 'KEY_SCOPE', 'BROWSER_NOT_ALLOWED'],
    browsers: false,
    identify: ({ keys }, request) => keys.authorize(request.header(KEY_HEADER), scope),
    permit: onlyLocally,
    actor: keyActor,
  };
}

/** Anybody; but whoever sends an internal API key is judged by it: a wrong one is 401 even where none is needed (docs/reference/callers.md#internal-keys). */
export function keyIfSent(scope: KeyScope): Guard<KeyHolder | null> {
  return {
    ...open,
    name: `keyIfSent(${scope})`,
    description: 'Needs no credentials; an internal API key that is sent must be a good one.',
    errors: ['UNAUTHENTICATED', 'KEY_SCOPE', 'BROWSER_NOT_ALLOWED'],
    browsers: false,
    permit: onlyLocally,
    identify: ({ keys }, request) => {
      const value = request.header(KEY_HEADER);
      return value === undefined ? null : keys.authorize(value, scope);
    },
    actor: keyActor,
  };
}

/** The identity provider, by a secret of its webhook. */
export const webhookSecret: Guard<'idp'> = {
  kind: 'webhookSecret',
  name: 'webhookSecret',
  description: "Needs a secret of the identity provider's webhook. Not for browsers.",
  scheme: 'webhookSecret',
  errors: ['UNAUTHENTICATED', 'BROWSER_NOT_ALLOWED', 'IDP_NOT_CONFIGURED'],
  browsers: false,
  identify: ({ provider }, request) => {
    provider.webhookSecrets.authorize(request.header(WEBHOOK_HEADER));
    return 'idp';
  },
  actor: (caller) => caller,
};

/** Anybody, where there is a login for development; elsewhere there is nothing at the path. */
export const developmentLogin: Guard<null> = {
  ...open,
  name: 'developmentLogin',
  description: 'Needs no credentials. Only outside production, or where `idp.devLogin` is set.',
  errors: ['NOT_FOUND'],
  identify: ({ provider }) => {
    if (!provider.login.enabled) throw new UsherError('NOT_FOUND', 'There is nothing at this path.');
    return null;
  },
};

function authenticate({ tokens }: Services, request: GuardRequest): Caller | Promise<Caller> {
  const header = request.header('authorization');
  return tokens.recall(header) ?? tokens.authenticate(header);
}

const userActor = (caller: Caller): string => `user:${caller.email}`;

/** What all guards have in common that ask for a user's token. */
const bearer = {
  scheme: 'bearer',
  browsers: true,
  identify: authenticate,
  actor: userActor,
} satisfies Partial<Guard<Caller>>;

/** A user by bearer token, active or not: only for checks, which answer an inactive user "denied" (docs/reference/callers.md#active-and-inactive). */
export const signedInEvenInactive: Guard<Caller> = {
  kind: 'signedIn',
  name: 'signedInEvenInactive',
  description: "Needs a user's bearer token. An inactive user is answered too: everything is denied.",
  ...bearer,
  errors: ['UNAUTHENTICATED', 'EMAIL_NOT_VERIFIED', 'IDENTITY_CONFLICT'],
  permit: ({ subjects }, { requestId }, caller) => subjects.refuseOther(caller, requestId),
};

/** An active user by bearer token. */
export const signedIn: Guard<Caller> = {
  kind: 'signedIn',
  name: 'signedIn',
  description: "Needs an active user's bearer token.",
  ...bearer,
  errors: [...signedInEvenInactive.errors, 'USER_INACTIVE'],
  permit: (services, request, caller) => asked(activePerson(services, request, caller)),
};

/**
 * As `signedIn`, for routes whose own transaction settles the account (directory/presence.ts): it is not asked about twice. Where
 * accounts are bound it is: another one is refused before anything else of its request is looked at.
 */
export const profileOwner: Guard<Caller> = {
  ...signedIn,
  name: 'profileOwner',
  permit: (services, request, caller) => {
    const { subjects } = services;
    if (subjects.binding) return asked(activePerson(services, request, caller));
    subjects.noteOwner(caller);
    return asked(personOf(services, request, caller));
  },
};

/** As `signedIn`, for a route that settles the account when it writes, and asks `isSettled` when it does not. */
export const accountSettler: Guard<Caller> = {
  ...signedIn,
  name: 'accountSettler',
  permit: (services, request, caller) =>
    asked((services.subjects.binding ? activePerson : personOf)(services, request, caller)),
};

/** An active SuperAdmin. */
export const superAdmin: Guard<Caller> = {
  kind: 'superAdmin',
  name: 'superAdmin',
  description: 'Needs the bearer token of a SuperAdmin.',
  ...bearer,
  errors: [...signedIn.errors, 'FORBIDDEN'],
  permit: async (services, request, caller) => {
    const { superadmin } = await activePerson(services, request, caller);
    if (superadmin) return;
    throw new UsherError('FORBIDDEN', 'Only a SuperAdmin may do this.');
  },
};

/** A SuperAdmin, or an active user who may enter the panel: reads what the panel's users share (docs/reference/administration.md#panel-levels, brands). */
export const panelEntry: Guard<Caller> = {
  kind: 'panelEntry',
  name: 'panelEntry',
  description: 'Needs the bearer token of a SuperAdmin, or of a user with `panel.access`.',
  ...bearer,
  errors: [...signedIn.errors, 'FORBIDDEN'],
  permit: async (services, request, caller) => {
    const { superadmin } = await activePerson(services, request, caller);
    if (superadmin || (await entersPanel(services, request, caller.email))) return;
    throw new UsherError('FORBIDDEN', 'Only users of the panel may do this.');
  },
};

/**
 * Who administers anything: a SuperAdmin, an AppAdmin of any application, or a user who may enter the panel (docs/reference/administration.md#panel-levels). What
 * the answer may hold beyond that is the handler's to decide.
 */
export const anyAdministrator: Guard<Caller> = {
  kind: 'anyAdministrator',
  name: 'anyAdministrator',
  description: 'Needs the bearer token of a SuperAdmin, an AppAdmin of any application, or a user of the panel.',
  ...bearer,
  errors: [...signedIn.errors, 'FORBIDDEN'],
  permit: async (services, request, caller) => {
    const { superadmin } = await activePerson(services, request, caller);
    if (superadmin || (await entersPanel(services, request, caller.email))) return;
    if (await services.administrators.isAppAdmin(caller.email)) return;
    throw new UsherError('FORBIDDEN', 'Only administrators may do this.');
  },
};

/**
 * Who administers the application that the path names: a SuperAdmin, its AppAdmin, or a user with `panel.access` and
 * `applications.manage` of that level on it. An unknown application is forbidden like a foreign one; a SuperAdmin
 * passes, and the handler answers 404. In `auth` itself writes are for SuperAdmins, but for the few routes that say
 * `delegated` (docs/reference/administration.md#guards): user roles and overrides, which their transaction limits further.
 */
export function applicationLevel(
  level: 'view' | 'edit',
  { param = 'appCode', delegated = false }: { param?: string; delegated?: boolean } = {},
): Guard<Caller> {
  const needed = level === 'edit' ? Level.EDIT : Level.VIEW;
  return {
    kind: 'applicationLevel',
    name: `applicationLevel(${level}${delegated ? ', delegated' : ''})`,
    description: `Needs the bearer token of a SuperAdmin, an AppAdmin of the application, or a panel user with level \`${level}\` on it.`,
    ...bearer,
    errors: [...signedIn.errors, 'NO_APPLICATION_LEVEL'],
    permit: async (services, request, caller) => {
      const { superadmin } = await activePerson(services, request, caller);
      if (superadmin) return;
      const app = request.params[param] ?? '';
      if (await administers(services, request, caller.email, app, needed, delegated)) return;
      throw noLevel();
    },
  };
}

/**
 * Who manages every application: a SuperAdmin, or a user with `panel.access` and `applications.manage: edit` without a resource.
 * Where the path names an application, it must not be one that is closed to him.
 */
export function managerOfAll(param?: string): Guard<Caller> {
  return {
    kind: 'managerOfAll',
    name: `managerOfAll${param === undefined ? '' : '(edit)'}`,
    description: 'Needs the bearer token of a SuperAdmin, or of a panel user who manages every application.',
    ...bearer,
    errors: [...signedIn.errors, 'FORBIDDEN', ...(param === undefined ? [] : (['NO_APPLICATION_LEVEL'] as const))],
    permit: async (services, request, caller) => {
      const { superadmin } = await activePerson(services, request, caller);
      if (superadmin) return;
      const { email } = caller;
      if (param !== undefined) {
        const app = request.params[param] ?? '';
        if (!(await administers(services, request, email, app, Level.EDIT, false))) throw noLevel();
      }
      if (await holdsPanelLevel(services, request, email, null, Level.EDIT)) return;
      throw new UsherError('FORBIDDEN', 'Only users who manage every application may do this.');
    },
  };
}

function noLevel(): UsherError {
  return new UsherError('NO_APPLICATION_LEVEL', 'You have no level that allows this on the application.');
}

/** What has to be waited for; undefined for what is known. */
function asked<T>(answer: T | Promise<T>): Promise<T> | undefined {
  return answer instanceof Promise ? answer : undefined;
}

/** The person, active, and the address still the same account's. At once where both are known. */
function activePerson(services: Services, request: GuardRequest, caller: Caller): PersonFacts | Promise<PersonFacts> {
  const { subjects } = services;
  const person = personOf(services, request, caller);
  if (person instanceof Promise) {
    return person.then(async (active) => {
      await subjects.admit(caller, request.requestId);
      return active;
    });
  }
  return subjects.admit(caller, request.requestId)?.then(() => person) ?? person;
}

/** The person, active. At once where the facts are at hand, which they mostly are. */
function personOf(services: Services, request: GuardRequest, caller: Caller): PersonFacts | Promise<PersonFacts> {
  const { engine } = services;
  const known = engine.peekPerson(caller.email);
  if (known !== null) return refuseInactive(known);
  return engine.person(caller.email, { signal: request.signal }).then(({ person }) => refuseInactive(person));
}

function refuseInactive(person: PersonFacts): PersonFacts {
  if (!person.active) throw new UsherError('USER_INACTIVE', 'This account is not active.');
  return person;
}

async function entersPanel(
  { engine }: Pick<Services, 'engine'>,
  { signal }: Pick<GuardRequest, 'signal'>,
  email: string,
): Promise<boolean> {
  const entry: Question = { email, app: PANEL_APP, permission: PANEL_ENTRY, ...managedResource(null) };
  return (await engine.check(entry, { signal })).decision.granted;
}

async function administers(
  services: Services,
  request: GuardRequest,
  email: string,
  app: string,
  needed: Level,
  delegated: boolean,
): Promise<boolean> {
  if (!isApplicationCode(app)) return false;
  const { member } = await services.engine.member(app, email, { signal: request.signal });
  if (member.appId === null) return false;
  // Who rules `auth` rules everything: its templates carry reset codes.
  const closed = app === PANEL_APP && needed === Level.EDIT;
  if (closed && !delegated) return false;
  if (member.admin && !closed) return true;
  // In `auth` a delegated write is for holders of the global level, not of a level on `auth`.
  return await holdsPanelLevel(services, request, email, closed ? null : app, needed);
}

/** Whether somebody who may enter the panel holds the level on an application there; without a resource where `app` is null. */
async function holdsPanelLevel(
  { engine }: Services,
  { signal }: GuardRequest,
  email: string,
  app: string | null,
  needed: Level,
): Promise<boolean> {
  if (!(await entersPanel({ engine }, { signal }, email))) return false;
  const manage: Question = { email, app: PANEL_APP, permission: PANEL_MANAGE, ...managedResource(app) };
  return (await engine.check(manage, { signal })).decision.level >= needed;
}
