/**
 * Who may call what, as a table (docs/reference/administration.md#guards): for each guard the callers that it lets through,
 * written from the contract's words and not from the guard. A guard that is not in it has no expectations, and fails.
 */
import type { Route } from '../../src/gateway/route/route.ts';

/** Everybody who can be at the door; the auditor holds the global `applications.manage: view`. `mine` is the application of the administrators; the panel's own is `auth`. */
export const CALLERS = [
  'nobody',
  'wrongKey',
  'key(check)',
  'key(notify)',
  'key(profile)',
  'key(events)',
  'key(metrics)',
  'key(manifest)',
  'plain',
  'inactive',
  'appAdmin',
  'foreignAdmin',
  'panelView',
  'panelEdit',
  'panelAuditor',
  'manager',
  'panelAdmin',
  'superAdmin',
] as const;
export type Caller = (typeof CALLERS)[number];

/** Applications that a path can name: the administrators' own, the panel's, and one that does not exist. */
export const APPS = ['mine', 'auth', 'nowhere'] as const;
export type AppCode = (typeof APPS)[number];

/** `passes`: the guard lets the caller through, whatever the handler then says of the request. */
export type Verdict = 'passes' | 401 | 403;

const SIGNED_IN: readonly Caller[] = [
  'plain',
  'inactive',
  'appAdmin',
  'foreignAdmin',
  'panelView',
  'panelEdit',
  'panelAuditor',
  'manager',
  'panelAdmin',
  'superAdmin',
];
const ACTIVE = SIGNED_IN.filter((caller) => caller !== 'inactive');
const PANEL: readonly Caller[] = ['panelView', 'panelEdit', 'panelAuditor', 'manager', 'panelAdmin', 'superAdmin'];

type Who = 'everybody' | readonly Caller[] | Readonly<Record<AppCode, readonly Caller[]>>;

const VIEW: readonly Caller[] = ['appAdmin', 'panelView', 'panelEdit', 'panelAuditor', 'panelAdmin', 'superAdmin'];
const EDIT: readonly Caller[] = ['appAdmin', 'panelEdit', 'panelAdmin', 'superAdmin'];

/** By the guard's name. A SuperAdmin passes to an application that does not exist, and is told so: 404. */
const GUARDS: Readonly<Record<string, Who>> = {
  open: 'everybody',
  'keyIfSent(metrics)': 'everybody',
  developmentLogin: 'everybody',
  // The development mailbox, asked by a loopback address as here.
  developer: 'everybody',
  'open (loopback host)': 'everybody',
  // The development sign-in is for pages of the service: nobody here is one (ROUTES).
  ownPage: [],
  signedInEvenInactive: SIGNED_IN,
  signedIn: ACTIVE,
  profileOwner: ACTIVE,
  accountSettler: ACTIVE,
  superAdmin: ['superAdmin'],
  panelEntry: PANEL,
  anyAdministrator: ['appAdmin', 'foreignAdmin', ...PANEL],
  managerOfAll: ['panelAdmin', 'superAdmin'],
  'managerOfAll(edit)': { mine: ['panelAdmin', 'superAdmin'], auth: ['superAdmin'], nowhere: ['superAdmin'] },
  'applicationLevel(view)': {
    mine: VIEW,
    auth: ['panelAuditor', 'panelAdmin', 'superAdmin'],
    nowhere: ['superAdmin'],
  },
  'applicationLevel(edit)': { mine: EDIT, auth: ['superAdmin'], nowhere: ['superAdmin'] },
  'applicationLevel(edit, delegated)': { mine: EDIT, auth: ['panelAdmin', 'superAdmin'], nowhere: ['superAdmin'] },
  // The identity provider's own: nobody here has its secret, or can sign as it does.
  webhookSecret: [],
  signature: [],
  eventSignature: [],
  'key(check)': ['key(check)'],
  // A user's token is no key: 401.
  'key(check), or the key as bearer': ['key(check)'],
  // A key alone names nobody (ROUTES).
  askedByProxy: SIGNED_IN,
  'key(notify)': ['key(notify)'],
  'key(profile)': ['key(profile)'],
  'key(events)': ['key(events)'],
  'key(metrics)': ['key(metrics)'],
  // A pipeline does to applications what a SuperAdmin may, and reads all of them.
  'superAdmin or key(manifest)': ['superAdmin', 'key(manifest)'],
  // A key with one of the scopes alone is refused.
  'superAdmin or key(profile+manifest)': ['superAdmin'],
  'applicationLevel(view) or key(manifest)': {
    mine: [...VIEW, 'key(manifest)'],
    auth: ['panelAuditor', 'panelAdmin', 'superAdmin', 'key(manifest)'],
    nowhere: ['superAdmin', 'key(manifest)'],
  },
};

/** Guards that know the identity provider, and nobody else. */
const OF_THE_PROVIDER: ReadonlySet<string> = new Set(['webhookSecret', 'signature', 'eventSignature']);

const EVERYBODY_403 = Object.fromEntries(CALLERS.map((caller) => [caller, 403 as const]));

/** Routes that differ from their guard's row; `METHOD path`, then the callers that differ. */
const ROUTES: Readonly<Record<string, Partial<Record<Caller, Verdict>>>> = {
  // Open, but a key that is sent must be valid.
  'GET /metrics': {
    wrongKey: 401,
    'key(check)': 403,
    'key(notify)': 403,
    'key(profile)': 403,
    'key(events)': 403,
    'key(manifest)': 403,
  },
  'GET /api/gateway/:appCode/check': { 'key(check)': 401 },
  // No credentials help, and none are asked for.
  'GET /dev/sign-in': EVERYBODY_403,
  'POST /dev/sign-in': EVERYBODY_403,
};

/** Whether the guard distinguishes what application the path names. */
export function isPerApplication(route: Route): boolean {
  const who = GUARDS[route.guard.name];
  return typeof who === 'object' && !Array.isArray(who);
}

const FEW: readonly Caller[] = ['plain', 'appAdmin', 'panelAdmin', 'superAdmin'];

/** The callers worth a request: those whom the guard's kind of credentials tells apart, and some of the others. */
export function callersOf(route: Route, app: AppCode): readonly Caller[] {
  if (app === 'nowhere') return FEW;
  if (route.guard.scheme === null) return CALLERS;
  if (route.guard.alternative !== undefined) return CALLERS;
  if (route.guard.scheme === 'bearer') return ['nobody', 'wrongKey', 'key(check)', ...SIGNED_IN];
  return [...CALLERS.filter((caller) => !SIGNED_IN.includes(caller)), 'plain', 'superAdmin'];
}

/** What a caller must hear; null where the table says nothing about the route's guard. */
export function expected(route: Route, caller: Caller, app: AppCode): Verdict | null {
  const special = ROUTES[nameOf(route)]?.[caller];
  if (special !== undefined) return special;
  const who = GUARDS[route.guard.name];
  if (who === undefined) return null;
  if (who === 'everybody') return 'passes';
  const callers = Array.isArray(who) ? who : (who as Record<AppCode, readonly Caller[]>)[app];
  if (callers.includes(caller)) return 'passes';
  // 401 for who is not known at this door, 403 for who is known and may not.
  if (OF_THE_PROVIDER.has(route.guard.name)) return 401;
  const takesKeys = route.guard.scheme === 'internalKey' || route.guard.alternative === 'internalKey';
  const isKnown =
    (takesKeys && caller.startsWith('key(')) || (route.guard.scheme !== 'internalKey' && SIGNED_IN.includes(caller));
  return isKnown ? 403 : 401;
}

export function nameOf(route: Pick<Route, 'method' | 'path'>): string {
  return `${route.method.toUpperCase()} ${route.path}`;
}

/** Administrative writes that change nothing, and so leave no record when they are refused. */
export const NO_WRITES: ReadonlySet<string> = new Set([
  'POST /api/applications/:appCode/templates/:id/preview',
  'POST /api/applications/:appCode/templates/preview',
  'POST /api/admin/brands/:id/preview',
  'POST /api/applications/:appCode/effective',
  'POST /api/applications/:appCode/explain',
  'POST /api/applications/:appCode/subjects',
  'POST /api/applications/:appCode/resources',
  'POST /api/admin/brands/:id/test-email',
]);

/** Whether a refusal by this route's guard must leave a record (docs/reference/administration.md#audit): a write by administrators. */
export function isAdministrativeWrite(route: Route): boolean {
  const administrators = ['superAdmin', 'applicationLevel', 'managerOfAll'].includes(route.guard.kind);
  return administrators && route.method !== 'get' && !NO_WRITES.has(nameOf(route));
}
