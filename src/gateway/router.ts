/**
 * How a request travels: path, method, caller, permission, body, parameters, handler, answer — in the order in which
 * faults are reported: 404, 405, 401, 403, then 413, 415, 400, then what the handler does not find
 * (docs/reference/http.md#order-of-checks).
 */

import { type Issue, toUsherError, UsherError } from '../base/errors.ts';
import { normalizeEmail } from '../base/grammar.ts';
import { CallerGone, type Exchange } from './http/exchange.ts';
import { announcesBody, type OpenUnproven, receiveBody } from './http/receive.ts';
import type { AnswerWriter, ErrorContext, Responder } from './http/respond.ts';
import { type Match, readParams, splitTarget, UrlTree } from './http/url-tree.ts';
import { optionsHeaders, refuseBrowser, type Site } from './middleware/cors.ts';
import { countRefused, type RateLimit } from './middleware/rate-limit.ts';
import { NO_BODY } from './route/bodies.ts';
import { bringsSecret, type Guard, type GuardRequest, KEY_CHALLENGE, KEY_HEADER } from './route/guards.ts';
import { Findings, parseQuery, readCookie } from './route/inputs.ts';
import { DEADLINE_MS } from './route/limits.ts';
import { Answer, type Input, type Method, type RequestHeader, type Route } from './route/route.ts';
import type { Services } from './services.ts';

export interface MountOptions {
  readonly routes: readonly Route[];
  readonly services: Services;
  readonly site: Site;
  readonly responder: Responder;
  readonly rateLimit: RateLimit | null;
  /** The address that a request came from, as far as proxies are trusted. */
  address(exchange: Exchange): string;
  /** Counts the body of a caller without credentials. */
  readonly unproven: OpenUnproven;
  /** Checks every payload against its response schema: for tests, so that document and answers cannot drift. */
  readonly checkAnswers: boolean;
}

/** 404 of a path; of an unknown record handlers say what is unknown. */
export function nothingHere(): UsherError {
  return new UsherError('NOT_FOUND', 'There is nothing at this path.');
}

/** Turns routes into what answers an exchange. It answers every one, and never throws. */
export function mount(options: MountOptions): (exchange: Exchange) => void {
  const tree = new UrlTree(options.routes);
  const { responder, site } = options;

  return (exchange) => {
    const { method = '' } = exchange.req;
    const target = splitTarget(exchange.req.url ?? '');
    const match = target === null ? null : tree.match(target.path);
    if (target === null || match === null) {
      responder.error(exchange, nothingHere(), { browsers: true });
      return;
    }
    const { place } = match;
    exchange.pattern = place.pattern;
    const route = place.routes.get((method === 'HEAD' ? 'get' : method.toLowerCase()) as Method);
    if (route !== undefined && !(method === 'HEAD' && route.unsafe)) {
      travel(options, exchange, route, match, target.search).catch((error: unknown) => {
        // Not even the error could be written: a connection that ends is better than one that waits.
        exchange.log.error({ requestId: exchange.requestId, route: exchange.pattern, err: error }, 'no answer written');
        exchange.res.destroy();
      });
      return;
    }
    const browsers = [...place.routes.values()].some(({ guard }) => guard.browsers);
    if (method === 'OPTIONS') {
      const headers = optionsHeaders(site, exchange, place.allow, browsers);
      exchange.res.writeHead(204, [...responder.common(exchange), ...headers]).end();
      return;
    }
    const refusal = new UsherError('METHOD_NOT_ALLOWED', `This path takes ${place.allow}.`);
    responder.error(exchange, refusal, { browsers, allow: place.allow });
  };
}

/** One request of a known route, from its caller to its answer. */
async function travel(
  options: MountOptions,
  exchange: Exchange,
  route: Route,
  match: Match,
  search: string,
): Promise<void> {
  const { services, responder } = options;
  exchange.quiet = route.quiet;
  const writer = responder.writer(exchange, route);
  try {
    const { values, issues } = readParams(match);
    // Waited for is only what is not there: a turn of the queue costs as much as finding the route.
    const admitted = admit(options, exchange, route, values);
    const caller = admitted instanceof Promise ? await admitted : admitted;
    const body =
      route.body === null && !announcesBody(exchange.req)
        ? undefined
        : await receiveBody(exchange, route.body ?? NO_BODY, isProven(route, caller) ? null : options.unproven);

    const isPlain = route.takesAnyText && issues.length === 0 && route.query === null && search === '';
    const { params, query } = isPlain ? { params: values, query: NO_VALUES } : examine(route, values, issues, search);

    const handled = route.handle(services, new RequestInput(exchange, route, writer, { caller, params, query, body }));
    const result =
      handled instanceof Promise ? await exchange.within(route.deadlineMs, handled, isChange(route)) : handled;
    if (options.checkAnswers) checkAnswer(route, result);
    const streaming = responder.answer(exchange, route, result, writer);
    if (streaming !== undefined) await streaming;
  } catch (thrown) {
    if (thrown instanceof CallerGone || !writer.fail(toUsherError(thrown))) {
      responder.error(exchange, thrown, contextOf(route, exchange));
    }
  }
}

/** Whether the caller has shown who they are. A signature over the body has yet to be verified. */
function isProven({ guard }: Route, caller: unknown): boolean {
  return guard.actor(caller) !== null;
}

/** A question comes by POST as well; it is told by taking a revision to be as fresh as. */
function isChange({ method, unsafe, headers }: Route): boolean {
  return unsafe === true || (method !== 'get' && !headers.includes('usher-min-revision'));
}

/**
 * Who calls, and that he may: 401, then 403. Refused administrative writes are audited (docs/reference/administration.md#audit). A promise only where
 * something has to be waited for: most callers are known.
 */
function admit(options: MountOptions, exchange: Exchange, route: Route, params: Record<string, string>): unknown {
  const { services, rateLimit } = options;
  const { guard } = route;
  const request = new GuardView(exchange, params);
  if (rateLimit !== null) return admitCounted(options, rateLimit, exchange, route, request);
  const identified = guard.identify(services, request);
  return identified instanceof Promise
    ? exchange.within(DEADLINE_MS.call, identified).then((caller) => permit(options, exchange, route, request, caller))
    : permit(options, exchange, route, request, identified);
}

async function admitCounted(
  options: MountOptions,
  rateLimit: RateLimit,
  exchange: Exchange,
  route: Route,
  request: GuardView,
): Promise<unknown> {
  const { guard } = route;
  if (bringsSecret(request)) await rateLimit.refuseGuesser(options.address(exchange));
  let caller: unknown;
  try {
    const identified = guard.identify(options.services, request);
    caller = identified instanceof Promise ? await exchange.within(DEADLINE_MS.call, identified) : identified;
  } catch (error) {
    // Guessing credentials counts against the address; over the limit it learns nothing more.
    await countRefused(rateLimit, options.address(exchange), request, error);
    throw error;
  }
  const actor = guard.actor(caller);
  nameCaller(exchange, actor);
  // Probes come from one address, every second, and must not be refused.
  if (!(route.quiet && guard.kind === 'open')) await rateLimit.take(actor ?? `ip:${options.address(exchange)}`);
  return await permit(options, exchange, route, request, caller);
}

/** The caller, if he may; at once where that is known. */
function permit(
  { services, site }: MountOptions,
  exchange: Exchange,
  route: Route,
  request: GuardView,
  caller: unknown,
): unknown {
  const { guard } = route;
  const actor = guard.actor(caller);
  nameCaller(exchange, actor);
  try {
    if (!guard.browsers || guard.refusesBrowsers?.(caller)) refuseBrowser(site, exchange);
    const permitted = guard.permit?.(services, request, caller);
    if (permitted === undefined) return caller;
    return exchange.within(DEADLINE_MS.call, permitted).then(
      () => caller,
      (error: unknown) => refuse(services, route, request, actor, error),
    );
  } catch (error) {
    return refuse(services, route, request, actor, error);
  }
}

/** Rethrows, once a refused administrative write is in the audit. */
async function refuse(
  services: Services,
  route: Route,
  { params, requestId }: GuardView,
  actor: string | null,
  error: unknown,
): Promise<never> {
  if (error instanceof UsherError && error.code === 'FORBIDDEN' && route.refusal !== null && actor !== null) {
    const subject = normalizeEmail(params.email ?? '');
    await services.recordRefusal({
      actor,
      action: route.refusal,
      appCode: params.appCode ?? null,
      subject,
      requestId,
    });
  }
  throw error;
}

function nameCaller(exchange: Exchange, actor: string | null): void {
  exchange.caller = actor?.startsWith('user:') ? 'user' : actor;
}

const NO_VALUES: unknown = Object.freeze(Object.create(null));

/** Parameters of path and query as their schemas give them; throws VALIDATION_FAILED with all that is wrong with them. */
function examine(
  route: Route,
  values: Record<string, string>,
  issues: readonly Issue[],
  search: string,
): { params: unknown; query: unknown } {
  const findings = new Findings();
  findings.add(issues);
  const params = route.params === null || issues.length > 0 ? values : findings.check(route.params, values);
  const query = route.query === null && search === '' ? NO_VALUES : readQuery(route, search, findings);
  findings.settle();
  return { params, query };
}

function readQuery(route: Route, search: string, findings: Findings): unknown {
  const { values, issues } = parseQuery(search);
  findings.add(issues);
  if (route.query !== null) return findings.check(route.query, values);
  findings.add(Object.keys(values).map((name) => ({ path: name, message: 'is not a known parameter' })));
  return values;
}

function contextOf({ guard, envelope }: Route, exchange: Exchange): ErrorContext {
  return {
    browsers: guard.browsers,
    challenge: challengeOf(guard, exchange),
    problem: envelope.kind === 'value' ? envelope.problem : undefined,
  };
}

/**
 * RFC 6750 3: a bearer that came and was refused is an invalid token; one that did not come is just asked for. Where a token or a
 * key will do, what came is what was refused.
 */
function challengeOf(guard: Guard<unknown>, exchange: Exchange): string {
  const tokenSent = exchange.header('authorization') !== undefined;
  const bearer = tokenSent ? 'Bearer realm="usher", error="invalid_token"' : 'Bearer realm="usher"';
  if (guard.alternative === 'internalKey') {
    if (exchange.header(KEY_HEADER) !== undefined) return KEY_CHALLENGE;
    return tokenSent ? bearer : `${bearer}, ${KEY_CHALLENGE}`;
  }
  if (guard.errors.includes('KEY_SCOPE')) return KEY_CHALLENGE;
  if (guard.scheme === 'webhookSecret') return 'WebhookSecret realm="usher", header="x-webhook-secret"';
  if (guard.kind === 'signature') return 'Signature realm="usher"';
  return bearer;
}

class GuardView implements GuardRequest {
  readonly #exchange: Exchange;
  readonly params: Readonly<Record<string, string>>;
  constructor(exchange: Exchange, params: Readonly<Record<string, string>>) {
    this.#exchange = exchange;
    this.params = params;
  }
  header(name: string): string | undefined {
    return this.#exchange.header(name);
  }
  get requestId(): string {
    return this.#exchange.requestId;
  }
  get signal(): AbortSignal {
    return this.#exchange.signal;
  }
}

type Parts = Pick<Input<unknown, unknown, unknown, unknown, RequestHeader>, 'caller' | 'params' | 'query' | 'body'>;

/** Getters for all that most handlers do not ask for; what they take out of it stays bound. */
class RequestInput implements Input<unknown, unknown, unknown, unknown, RequestHeader> {
  readonly #exchange: Exchange;
  readonly #route: Route;
  readonly #writer: AnswerWriter;
  readonly caller: unknown;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  constructor(exchange: Exchange, route: Route, writer: AnswerWriter, parts: Parts) {
    this.#exchange = exchange;
    this.#route = route;
    this.#writer = writer;
    this.caller = parts.caller;
    this.params = parts.params;
    this.query = parts.query;
    this.body = parts.body;
  }
  get actor(): string {
    return this.#route.guard.actor(this.caller) ?? 'system';
  }
  get requestId(): string {
    return this.#exchange.requestId;
  }
  get signal(): AbortSignal {
    return this.#exchange.signal;
  }
  get header(): (name: RequestHeader) => string | undefined {
    return (name) => (this.#route.headers.includes(name) ? this.#exchange.header(name) : undefined);
  }
  get cookie(): string | undefined {
    const { cookie } = this.#route;
    return cookie === null ? undefined : readCookie(this.#exchange.header('cookie'), cookie.name);
  }
  get progress(): (done: number, total: number) => void {
    return (done, total) => this.#writer.progress(done, total);
  }
}

/** Throws what becomes a bare 500 when a handler answered something that the document does not say. */
function checkAnswer(route: Route, result: unknown): void {
  const { payload, meta } = result instanceof Answer ? result : { payload: result, meta: {} };
  const status = 'status' in meta ? meta.status : undefined;
  if (status !== undefined && !route.statuses.includes(status)) throw new Error(`${route.path}: status ${status}`);
  if (route.envelope.kind === 'value') route.response?.parse(payload);
}
