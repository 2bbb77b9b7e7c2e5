/**
 * The steps of a request: caller and permission, body, parameters, handler, answer — in the order in which faults are
 * reported: 404, 405, 401, 403, then 413, 415, 400, then the handler's own (docs/reference/http.md#order-of-checks).
 */

import type { Application, Request, RequestHandler } from 'express';
import { z } from 'zod';
import { UnknownApplication } from '../administration/records.ts';
import { byCodeUnit } from '../base/order.ts';
import { REASON_HEADER, readReason } from '../base/reason.ts';
import { refuseOtherApplications } from '../identity/api-keys.ts';
import { type Answering, answerDearRead, answerRead, endsWithCaller, isDear } from './dear.ts';
import { announcesBody } from './http/connections.ts';
import { type Admission, admit } from './middleware/admit.ts';
import { AnswerWriter } from './middleware/answer.ts';
import { receiveBody } from './middleware/body.ts';
import { allowOrigin, answerOptions } from './middleware/cors.ts';
import { refuseMethod, refusePath } from './middleware/errors.ts';
import { type Exchange, keepRequestId } from './middleware/exchange.ts';
import type { UnprovenBodies } from './middleware/unproven.ts';
import { NO_BODY } from './route/bodies.ts';
import { asksForDryRun } from './route/dry-run.ts';
import type { Guard } from './route/guards.ts';
import { Findings, type parseQuery, readCookie } from './route/inputs.ts';
import { Answer, type Input, type Method, type RequestHeader, type Route } from './route/route.ts';
import type { Services } from './services.ts';

interface RouterOptions extends Admission {
  readonly routes: readonly Route[];
  /** Whether this listener has it; the others are unknown paths here. */
  readonly serves: (route: Route) => boolean;
  /** Counts the bodies of callers without credentials. */
  readonly unproven: UnprovenBodies;
  /** Checks every payload against its response schema: for tests, so that document and answers cannot drift. */
  readonly checkAnswers: boolean;
}

/** Mounts the routes on the application; a request that matches none is passed on. */
export function mountRoutes(app: Application, options: RouterOptions): void {
  const { site, serves } = options;
  for (const { path, routes: known } of placesOf(options.routes)) {
    const routes = new Map([...known].filter(([, route]) => serves(route)));
    if (routes.size === 0) {
      // Mounted nevertheless: `/api/profile/me` must not be taken for the person `me` of `/api/profile/:email`.
      app.all(path, refusePath(site));
      continue;
    }
    const everyMethod = [...routes.values()].find((route) => route.everyMethod);
    if (everyMethod !== undefined) {
      const steps = stepsOf(options, everyMethod);
      for (const below of ['', '/', '/*below']) app.all(path + below, steps);
      continue;
    }
    const methods = [...routes.keys()].map((method) => method.toUpperCase());
    const isSafe = routes.get('get')?.unsafe === false;
    // In the order of RFC 9110.
    const allow = [...methods, ...(isSafe ? ['HEAD'] : []), 'OPTIONS'].join(', ');
    const browsers = [...routes.values()].some(({ guard }) => guard.browsers);
    const place = app.route(path);
    if ([...routes.values()].some((route) => route.anyRequestId)) place.all(keepRequestId);
    // Express takes HEAD as GET; it must never do what a GET does that changes something.
    if (!isSafe) place.head(refuseMethod(site, allow, browsers));
    for (const [method, route] of routes) place[method](stepsOf(options, route));
    place.options(answerOptions(site, allow, browsers)).all(refuseMethod(site, allow, browsers));
  }
}

interface Place {
  readonly path: string;
  readonly routes: ReadonlyMap<Method, Route>;
}

/** The routes at each path. A literal segment stands before a parameter: Express takes the first match. */
function placesOf(routes: readonly Route[]): readonly Place[] {
  const byShape = new Map<string, { path: string; rank: string; routes: Map<Method, Route> }>();
  for (const route of routes) {
    const { path, method } = route;
    const segments = path.slice(1).split('/');
    const shape = segments.map((segment) => (segment.startsWith(':') ? ':' : segment)).join('/');
    const rank = segments.map((segment) => (segment.startsWith(':') ? '1' : '0')).join('');
    const place = byShape.get(shape) ?? { path, rank, routes: new Map<Method, Route>() };
    if (place.path !== path) throw new Error(`${path} and ${place.path} are one path`);
    if (place.routes.has(method)) throw new Error(`${method} ${path} is defined twice`);
    place.routes.set(method, route);
    byShape.set(shape, place);
  }
  return [...byShape.values()].sort((a, b) => byCodeUnit(a.rank, b.rank));
}

function stepsOf(options: RouterOptions, route: Route): RequestHandler[] {
  const { services, site, unproven } = options;
  const { guard } = route;
  // Probes come from one address, every second, and must not be refused.
  const counted = !(route.quiet && guard.kind === 'open');
  const entranceOf = ({ refusal, concerns }: Route) => ({ guard, refusal, counted, concerns });
  const entrance = entranceOf(route);
  const rehearsal = route.rehearsal === null ? null : { route: route.rehearsal, entrance: entranceOf(route.rehearsal) };

  const enter: RequestHandler = (req, res, next) => {
    const { exchange } = res.locals;
    exchange.route = rehearsal !== null && asksForDryRun(req.url) ? rehearsal.route : route;
    exchange.quiet = route.quiet;
    if (route.everyMethod) {
      exchange.door = route.path;
      // What stands below the path says nothing.
      delete req.params.below;
    }
    takeParams(exchange, req.params as Record<string, string>);
    if (guard.browsers) allowOrigin(site, req, res);
    next();
  };

  const identifyAndPermit: RequestHandler = (_req, res, next) => {
    const { exchange } = res.locals;
    const through = exchange.route === rehearsal?.route ? rehearsal.entrance : entrance;
    return onceKnown(admit(options, exchange, through), (caller) => {
      exchange.caller = caller;
      next();
    });
  };

  const suggests = ADMINISTRATORS.has(guard.kind);
  const takesReason = route.headers.includes(REASON_HEADER);
  const readBody: RequestHandler = (req, res, next) => {
    const { exchange } = res.locals;
    if (takesReason) exchange.reason = readReason(req.get(REASON_HEADER));
    if (route.everyMethod || (route.body === null && !announcesBody(req))) return next();
    // A signature over the body is verified later: until then the caller is unknown.
    const isProven = guard.actor(exchange.caller) !== null;
    return receiveBody(exchange, route.body ?? NO_BODY, isProven ? null : unproven).then((body) => {
      req.body = body;
      next();
    });
  };

  const handle: RequestHandler = (req, res) => {
    const { exchange } = res.locals;
    const target = exchange.route === rehearsal?.route ? rehearsal.route : route;
    const writer = new AnswerWriter(exchange, target);
    const input = new RequestInput(exchange, target, writer, examine(target, req, exchange));
    refuseOthers(target, input);
    const isRisky = target === route && isChange(route);
    const answer: Answering = (handled) => {
      const result = handled instanceof Promise ? exchange.within(route.deadlineMs, handled, isRisky) : handled;
      return onceKnown(result, (found) => {
        if (options.checkAnswers) checkAnswer(target, found);
        return writer.answer(found);
      });
    };
    const begin = (): unknown => (suggests ? suggesting(services, target, input) : target.handle(services, input));
    if (isDear(target, req)) return answerDearRead(services.dearReads, exchange, target, { begin, answer });
    return endsWithCaller(target) ? answerRead(exchange, { begin, answer }) : answer(begin());
  };

  return [enter, identifyAndPermit, readBody, handle];
}

/** Guards of those who are told what code they most likely meant; to all others what they may not see does not exist. */
const ADMINISTRATORS: ReadonlySet<Guard<unknown>['kind']> = new Set([
  'superAdmin',
  'panelEntry',
  'anyAdministrator',
  'managerOfAll',
  'applicationLevel',
]);

async function suggesting(services: Services, route: Route, input: RequestInput): Promise<unknown> {
  try {
    return await route.handle(services, input);
  } catch (error) {
    const { email } = input.caller as { email?: string };
    if (!(error instanceof UnknownApplication) || email === undefined) throw error;
    throw await services.suggestions.forApplication(error, email, error.app);
  }
}

/** Throws KEY_SCOPE for a caller whose key is narrowed to other applications than the request is about. */
function refuseOthers({ guard, concerns }: Route, input: RequestInput): void {
  if (typeof concerns !== 'function') return;
  const holder = guard.key?.(input.caller);
  if (holder != null && holder.apps !== null) refuseOtherApplications(holder, concerns(input));
}

/** Continues synchronously with a known value: a needless microtask costs as much as finding a route. */
function onceKnown(value: unknown, goOn: (value: unknown) => Promise<void> | void): Promise<void> | void {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}

/** A parameter with a NUL is an issue; the guard sees '', which matches no record (http/target.ts). */
function takeParams(exchange: Exchange, params: Record<string, string>): void {
  exchange.params = params;
  for (const name in params) {
    if (!params[name]?.includes('\0')) continue;
    params[name] = '';
    const issue = { path: name, message: 'is not percent-encoded UTF-8, or holds a NUL character' };
    exchange.paramIssues = [...exchange.paramIssues, issue];
  }
}

/** Questions also come by POST; they are the routes that take `usher-min-revision`. */
function isChange({ method, unsafe, headers }: Route): boolean {
  return unsafe === true || (method !== 'get' && !headers.includes('usher-min-revision'));
}

const NO_VALUES: unknown = Object.freeze(Object.create(null));

interface Examined {
  readonly params: unknown;
  readonly query: unknown;
}

/** Parameters of path and query, parsed by their schemas; throws VALIDATION_FAILED with every issue. */
function examine(route: Route, req: Request, { params: sent, paramIssues }: Exchange): Examined {
  const hasQuery = req.url.includes('?');
  if (route.takesAnyText && paramIssues.length === 0 && route.query === null && !hasQuery) {
    return { params: sent, query: NO_VALUES };
  }
  const findings = new Findings();
  findings.add(paramIssues);
  const params = route.params === null || paramIssues.length > 0 ? sent : findings.check(route.params, sent);
  const query = route.query === null && !hasQuery ? NO_VALUES : readQuery(route, req, findings);
  findings.settle();
  return { params, query };
}

function readQuery(route: Route, req: Request, findings: Findings): unknown {
  // Parsed by the query parser of app.ts.
  const { values, issues } = knownOf(route, req.query as unknown as ReturnType<typeof parseQuery>);
  findings.add(issues);
  if (route.query !== null) return findings.check(route.query, values);
  findings.add(Object.keys(values).map((name) => ({ path: name, message: 'is not a known parameter' })));
  return values;
}

/** Without the parameters that a relay may have added to a link for people. */
function knownOf(route: Route, query: ReturnType<typeof parseQuery>): ReturnType<typeof parseQuery> {
  if (!route.forPeople) return query;
  const known = route.query instanceof z.ZodObject ? route.query.shape : {};
  const isKnown = (name: string): boolean => Object.hasOwn(known, name);
  return {
    values: Object.fromEntries(Object.entries(query.values).filter(([name]) => isKnown(name))),
    issues: query.issues.filter(({ path }) => isKnown(path)),
  };
}

/** Getters for everything that most handlers do not read; methods stay bound when destructured. */
class RequestInput implements Input<unknown, unknown, unknown, unknown, RequestHeader> {
  readonly #exchange: Exchange;
  readonly #route: Route;
  readonly #writer: AnswerWriter;
  readonly caller: unknown;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  constructor(exchange: Exchange, route: Route, writer: AnswerWriter, { params, query }: Examined) {
    this.#exchange = exchange;
    this.#route = route;
    this.#writer = writer;
    this.caller = exchange.caller;
    this.params = params;
    this.query = query;
    this.body = exchange.req.body as unknown;
  }
  get actor(): string {
    return this.#route.guard.actor(this.caller) ?? 'system';
  }
  get requestId(): string {
    return this.#exchange.requestId;
  }
  get reason(): string | undefined {
    return this.#exchange.reason;
  }
  get signal(): AbortSignal {
    return this.#exchange.signal;
  }
  get header(): (name: RequestHeader) => string | undefined {
    return (name) => (this.#route.headers.includes(name) ? this.#exchange.req.get(name) : undefined);
  }
  get cookie(): string | undefined {
    const { cookie } = this.#route;
    return cookie === null ? undefined : readCookie(this.#exchange.req.get('cookie'), cookie.name);
  }
  get media(): string {
    return this.#writer.media;
  }
  get progress(): (done: number, total: number) => void {
    return (done, total) => this.#writer.progress(done, total);
  }
}

/** Throws an error that becomes a bare 500 when a handler's answer does not match its documented schema. */
function checkAnswer(route: Route, result: unknown): void {
  const { payload, meta } = result instanceof Answer ? result : { payload: result, meta: {} };
  const status = 'status' in meta ? meta.status : undefined;
  if (status !== undefined && !route.statuses.includes(status)) throw new Error(`${route.path}: status ${status}`);
  if (route.envelope.kind === 'value') route.response?.parse(payload);
}
