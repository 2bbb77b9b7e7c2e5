/** Identifies and authorizes the caller: 401, 429, 403, in this order on every surface. */

import { UsherError } from '../../base/errors.ts';
import { normalizeEmail } from '../../base/grammar.ts';
import { REASON_HEADER, readReasonLeniently } from '../../base/reason.ts';
import { refuseOtherApplications } from '../../identity/api-keys.ts';
import { bringsSecret, type Guard, type GuardRequest } from '../route/guards.ts';
import { DEADLINE_MS } from '../route/limits.ts';
import type { Route } from '../route/route.ts';
import type { Services } from '../services.ts';
import { refuseBrowser, type Site } from './cors.ts';
import type { Exchange } from './exchange.ts';
import { countRefused, type RateLimit } from './rate-limit.ts';

export interface Admission {
  readonly services: Services;
  readonly site: Site;
  readonly rateLimit: RateLimit | null;
}

/** The requirements for a caller. */
export interface Entrance {
  readonly guard: Guard<unknown>;
  /** The audit action of a write that the guard refused an identified caller. */
  readonly refusal: string | null;
  /** What a request is about. Callers with a narrowed key are refused here where its path says so, or nothing does. */
  readonly concerns: Route['concerns'];
  /** Whether requests of unidentified callers are counted by address. */
  readonly counted: boolean;
}

/**
 * The caller, or an error of 401, 429, 403 or 503. Refused administrative writes are audited
 * (docs/reference/administration.md#audit). A promise only when something is pending: most callers are known.
 */
export function admit(admission: Admission, exchange: Exchange, entrance: Entrance): unknown {
  const { services, rateLimit } = admission;
  const request = new GuardView(exchange);
  if (rateLimit !== null) return admitCounted(admission, rateLimit, exchange, entrance, request);
  const identified = entrance.guard.identify(services, request);
  return identified instanceof Promise
    ? exchange
        .within(DEADLINE_MS.call, identified)
        .then((caller) => permit(admission, exchange, entrance, request, caller))
    : permit(admission, exchange, entrance, request, identified);
}

async function admitCounted(
  admission: Admission,
  rateLimit: RateLimit,
  exchange: Exchange,
  entrance: Entrance,
  request: GuardView,
): Promise<unknown> {
  const { guard, counted } = entrance;
  const { address } = exchange;
  const isSecret = bringsSecret(guard, request);
  if (isSecret) await rateLimit.refuseGuesser(address);
  let caller: unknown;
  try {
    const identified = guard.identify(admission.services, request);
    caller = identified instanceof Promise ? await exchange.within(DEADLINE_MS.call, identified) : identified;
  } catch (error) {
    // Guessing credentials counts against the address; over the limit it learns nothing more.
    const isGuess = isSecret && (guard.isGuess?.(admission.services, request) ?? true);
    await countRefused(rateLimit, address, isGuess, error);
    throw error;
  }
  const actor = guard.actor(caller);
  exchange.nameCaller(actor);
  if (counted) await rateLimit.take(actor ?? `ip:${address}`);
  return await permit(admission, exchange, entrance, request, caller);
}

/** The caller, if allowed; synchronous when that is known. */
function permit(
  { services, site }: Admission,
  exchange: Exchange,
  { guard, refusal, concerns }: Entrance,
  request: GuardView,
  caller: unknown,
): unknown {
  const actor = guard.actor(caller);
  exchange.nameCaller(actor);
  const refused = (error: unknown): Promise<never> => refuse(services, refusal, request, actor, error);
  try {
    if (refusesBrowser(guard, caller)) refuseBrowser(site, exchange.req);
    if (concerns === null || concerns === 'path') refuseNarrowed(guard, caller, concerns, request);
    const permitted = guard.permit?.(services, request, caller);
    if (permitted === undefined) return caller;
    return exchange.within(DEADLINE_MS.call, permitted).then(() => caller, refused);
  } catch (error) {
    return refused(error);
  }
}

function refuseNarrowed(guard: Guard<unknown>, caller: unknown, concerns: 'path' | null, { params }: GuardView): void {
  const holder = guard.key?.(caller);
  if (holder) refuseOtherApplications(holder, concerns === null ? [] : [params.appCode ?? '']);
}

function refusesBrowser(guard: Guard<unknown>, caller: unknown): boolean {
  if (guard.ignoresOrigin === true) return false;
  return !guard.browsers || guard.refusesBrowsers?.(caller) === true;
}

/** Rethrows after recording a refused administrative write in the audit. */
async function refuse(
  services: Services,
  action: string | null,
  request: GuardView,
  actor: string | null,
  error: unknown,
): Promise<never> {
  if (error instanceof UsherError && error.code === 'FORBIDDEN' && action !== null && actor !== null) {
    const { params, requestId } = request;
    const subject = normalizeEmail(params.email ?? '');
    const reason = readReasonLeniently(request.header(REASON_HEADER));
    await services.recordRefusal({ actor, action, appCode: params.appCode ?? null, subject, requestId, reason });
  }
  const { appCode } = request.params;
  if (error instanceof UsherError && error.reason === 'NO_APPLICATION_LEVEL' && appCode !== undefined) {
    const email = actor?.startsWith('user:') ? actor.slice('user:'.length) : null;
    if (email !== null) throw await services.suggestions.forApplication(error, email, appCode);
  }
  throw error;
}

class GuardView implements GuardRequest {
  readonly #exchange: Exchange;
  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }
  header(name: string): string | undefined {
    return this.#exchange.req.get(name);
  }
  get params(): Readonly<Record<string, string>> {
    return this.#exchange.params;
  }
  get requestId(): string {
    return this.#exchange.requestId;
  }
  get signal(): AbortSignal {
    return this.#exchange.signal;
  }
}
