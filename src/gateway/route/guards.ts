/**
 * Who may call a route, as values. A guard decides before the body is read; it documents itself in OpenAPI and can be
 * enumerated, so that the authorization matrix is made from the routes. (docs/reference/administration.md#guards.)
 *
 * Guards ask the cached engine. For reads that is the decision. For administrative writes it is only the first check:
 * the write decides again on rows of its own transaction, so the next write of a revoked administrator fails.
 */

import { managedResource, PANEL_APP, PANEL_ENTRY, PANEL_MANAGE } from '../../administration/panel.ts';
import {
  byAdministratorOf,
  byManagerOfAll,
  bySuperAdmin,
  type Rule,
  type Standing,
} from '../../administration/rules.ts';
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

type GuardKind =
  | 'open'
  | 'key'
  | 'proxy'
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
  /** A sentence for the OpenAPI document. */
  readonly description: string;
  /** The OpenAPI security scheme that it requires; null for none. */
  readonly scheme: 'bearer' | 'internalKey' | 'webhookSecret' | null;
  /** Another scheme that it takes in place of that one. */
  readonly alternative?: 'internalKey' | 'bearerKey';
  /** What it refuses with. */
  readonly errors: readonly (Reason | ErrorCode)[];
  /** False for routes with keys, which refuse an `Origin` other than publicUrl's (docs/reference/callers.md#internal-keys). */
  readonly browsers: boolean;
  /** The same by caller, for guards that admit several kinds. */
  refusesBrowsers?(caller: C): boolean;
  /** Whether `Origin` says nothing, as from a proxy that passes on its client's: it is not refused, and no page may read the answer. */
  readonly ignoresOrigin?: boolean;
  /** Identifies the caller; throws 401 (or 503). Synchronous when possible: checks are hot. */
  identify(services: Services, request: GuardRequest): C | Promise<C>;
  /**
   * Throws 403 (or 503) if the caller may not call. Absent when every identified caller may; returns undefined when the answer is
   * known synchronously: checks are hot.
   */
  permit?(services: Services, request: GuardRequest, caller: C): Promise<unknown> | undefined;
  /** Whether a refused call guessed a secret; absent where every wrong credential beside one is a guess. */
  isGuess?(services: Services, request: GuardRequest): boolean;
  /**
   * Of guards that admit narrowed keys: the applications of the caller's. The route must say what a request is about (`concerns`), or such a
   * caller is refused.
   */
  key?(caller: C): Pick<KeyHolder, 'name' | 'apps'> | null;
  /** For audit records and rate limits: `user:<email>`, `key:<name>`; null for nobody in particular. */
  actor(caller: C): string | null;
}

export const KEY_HEADER = 'x-internal-api-key';
const WEBHOOK_HEADER = 'x-webhook-secret';
/** The challenge of a 401 on routes with keys. */
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

/** Without a key, in development, the caller must be on this machine. */
function onlyLocally(_services: Services, request: GuardRequest, holder: KeyHolder | null): undefined {
  if (holder === null) refuseForeignHost(request.header('host'));
}

/** Whether a call brings a secret that somebody may be guessing. A user's token is not one: it is signed. */
export function bringsSecret(
  guard: Pick<Guard<unknown>, 'alternative'>,
  request: Pick<GuardRequest, 'header'>,
): boolean {
  if (request.header(KEY_HEADER) !== undefined || request.header(WEBHOOK_HEADER) !== undefined) return true;
  return guard.alternative === 'bearerKey' && request.header('authorization') !== undefined;
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
    identify: ({ keys }, request) => keys.authorizeAny(request.header(KEY_HEADER), scope),
    permit: onlyLocally,
    key: (holder) => holder,
    actor: keyActor,
  };
}

/** Anybody; but an internal API key that is sent must be valid: a wrong one is 401 (docs/reference/callers.md#internal-keys). */
export function keyIfSent(scope: KeyScope): Guard<KeyHolder | null> {
  return {
    ...open,
    name: `keyIfSent(${scope})`,
    description: 'Needs no credentials; an internal API key that is sent must be valid.',
    errors: ['UNAUTHENTICATED', 'KEY_SCOPE', 'BROWSER_NOT_ALLOWED'],
    browsers: false,
    permit: onlyLocally,
    identify: ({ keys }, request) => {
      const value = request.header(KEY_HEADER);
      return value === undefined ? null : keys.authorize(value, scope);
    },
    key: (holder) => holder,
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

/** Anybody, where the development login is enabled; elsewhere the path is 404. */
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

/** The common part of guards that require a user's token. */
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
  description: "Needs a user's bearer token. An inactive user gets an answer too: everything is denied.",
  ...bearer,
  errors: ['UNAUTHENTICATED', 'EMAIL_NOT_VERIFIED', 'ORGANIZATION_NOT_ADMITTED', 'IDENTITY_CONFLICT'],
  permit: ({ subjects }, { requestId }, caller) => subjects.refuseOther(caller, requestId),
};

/** An active user by bearer token. */
export const signedIn: Guard<Caller> = {
  kind: 'signedIn',
  name: 'signedIn',
  description: "Needs an active user's bearer token.",
  ...bearer,
  errors: [...signedInEvenInactive.errors, 'USER_INACTIVE'],
  permit: (services, request, caller) => ifPending(activePerson(services, request, caller)),
};

/**
 * As `signedIn`, for routes whose own transaction settles the account (directory/presence.ts), so that it is not checked twice. Where
 * accounts are bound it is: a different account is refused before anything else of its request is examined.
 */
export const profileOwner: Guard<Caller> = {
  ...signedIn,
  name: 'profileOwner',
  permit: (services, request, caller) => {
    const { subjects } = services;
    if (subjects.binding) return ifPending(activePerson(services, request, caller));
    subjects.noteOwner(caller);
    return ifPending(personOf(services, request, caller));
  },
};

/** As `signedIn`, for a route that settles the account when it writes, and checks `isSettled` when it does not. */
export const accountSettler: Guard<Caller> = {
  ...signedIn,
  name: 'accountSettler',
  permit: (services, request, caller) =>
    ifPending((services.subjects.binding ? activePerson : personOf)(services, request, caller)),
};

/** An active SuperAdmin. */
export const superAdmin: Guard<Caller> = {
  kind: 'superAdmin',
  name: 'superAdmin',
  description: 'Needs the bearer token of a SuperAdmin.',
  ...bearer,
  errors: [...signedIn.errors, 'FORBIDDEN'],
  permit: (services, request, caller) => obey([bySuperAdmin('do this')], services, request, caller),
};

/** A SuperAdmin, or an active panel user: for reads that all panel users share (docs/reference/administration.md#panel-levels, brands). */
export const panelEntry: Guard<Caller> = {
  kind: 'panelEntry',
  name: 'panelEntry',
  description: 'Needs the bearer token of a SuperAdmin, or of a user with `panel.access`.',
  ...bearer,
  errors: [...signedIn.errors, 'FORBIDDEN'],
  permit: async (services, request, caller) => {
    const { superadmin } = await activePerson(services, request, caller);
    if (superadmin || (await entersPanel(services, request, caller.email))) return;
    throw new UsherError('FORBIDDEN', 'Only panel users may do this.');
  },
};

/**
 * An administrator of anything: a SuperAdmin, an app admin of any application, or a panel user (docs/reference/administration.md#panel-levels). What
 * the answer may contain is the handler's decision.
 */
export const anyAdministrator: Guard<Caller> = {
  kind: 'anyAdministrator',
  name: 'anyAdministrator',
  description: 'Needs the bearer token of a SuperAdmin, an app admin of any application, or a panel user.',
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
 * An administrator of the application that the path names: a SuperAdmin, its app admin, or a user with `panel.access` and
 * `applications.manage` of that level on it. An unknown application is 403 like a foreign one; a SuperAdmin
 * passes, and the handler answers 404. In `auth` itself only SuperAdmins write, except through the few routes marked
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
    description: `Needs the bearer token of a SuperAdmin, an app admin of the application, or a panel user with level \`${level}\` on it.`,
    ...bearer,
    errors: [...signedIn.errors, 'NO_APPLICATION_LEVEL'],
    permit: (services, request, caller) =>
      obey([byAdministratorOf(request.params[param] ?? '', needed, { delegated })], services, request, caller),
  };
}

/**
 * A manager of all applications: a SuperAdmin, or a user with `panel.access` and `applications.manage: edit` without a resource.
 * If the path names an application, it must not be one that an override closes to them.
 */
export function managerOfAll(param?: string): Guard<Caller> {
  return {
    kind: 'managerOfAll',
    name: `managerOfAll${param === undefined ? '' : '(edit)'}`,
    description: 'Needs the bearer token of a SuperAdmin, or of a panel user who manages every application.',
    ...bearer,
    errors: [...signedIn.errors, 'FORBIDDEN', ...(param === undefined ? [] : (['NO_APPLICATION_LEVEL'] as const))],
    permit: (services, request, caller) => {
      const own = param === undefined ? [] : [byAdministratorOf(request.params[param] ?? '', Level.EDIT)];
      return obey([...own, byManagerOfAll('do this')], services, request, caller);
    },
  };
}

/** Throws the first refusal of the rules, over the cached engine. */
async function obey(rules: readonly Rule[], services: Services, request: GuardRequest, caller: Caller): Promise<void> {
  const { engine } = services;
  const { email } = caller;
  const { signal } = request;
  const standing: Standing = {
    person: await activePerson(services, request, caller),
    member: async (app) =>
      isApplicationCode(app) ? (await engine.member(app, email, { signal })).member : { appId: null, admin: false },
    panelLevel: async (app) => {
      if (!(await entersPanel(services, request, email))) return Level.NONE;
      const manage: Question = { email, app: PANEL_APP, permission: PANEL_MANAGE, ...managedResource(app) };
      return (await engine.check(manage, { signal })).decision.level;
    },
  };
  for (const rule of rules) {
    const refused = await rule(standing);
    if (refused !== null) throw refused;
  }
}

/** The promise if the answer is pending; undefined if it is known. */
function ifPending<T>(answer: T | Promise<T>): Promise<T> | undefined {
  return answer instanceof Promise ? answer : undefined;
}

/** The active person, whose address still belongs to the same account. Synchronous when both are known. */
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

/** The active person. Synchronous when the facts are cached, as they mostly are. */
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
