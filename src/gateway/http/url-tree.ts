/**
 * The one place that reads a path. Guard, parameters, log and metrics all see what this matched, so none of them can be
 * shown another path than the router. Paths are compared segment by segment as they were sent: case, trailing and doubled
 * slashes and dot segments count, and only parameters are percent-decoded (an encoded slash stays inside its parameter).
 */

import type { Issue } from '../../base/errors.ts';
import type { Method, Route } from '../route/route.ts';

/** Everything at one path pattern. */
export interface Place {
  readonly pattern: string;
  readonly names: readonly string[];
  readonly routes: ReadonlyMap<Method, Route>;
  /** For `Allow`, in the order of RFC 9110: what the place takes, OPTIONS always, HEAD with a GET that changes nothing. */
  readonly allow: string;
}

export interface Match {
  readonly place: Place;
  /** Undecoded, in the order of `place.names`. */
  readonly segments: readonly string[];
}

interface Branch {
  literals: Map<string, Branch>;
  parameter: Branch | null;
  place: (Place & { routes: Map<Method, Route>; allow: string }) | null;
}

const NO_SEGMENTS: readonly string[] = [];

export class UrlTree {
  readonly #root: Branch = branch();
  /** Places without parameters: found by one lookup. No literal path is shadowed by a parameter. */
  readonly #fixed = new Map<string, Match>();

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#add(route);
  }

  #add(route: Route): void {
    let at = this.#root;
    const names: string[] = [];
    for (const segment of route.path.slice(1).split('/')) {
      if (segment.startsWith(':')) {
        names.push(segment.slice(1));
        at.parameter ??= branch();
        at = at.parameter;
      } else {
        const next = at.literals.get(segment) ?? branch();
        at.literals.set(segment, next);
        at = next;
      }
    }
    at.place ??= { pattern: route.path, names, routes: new Map(), allow: '' };
    if (at.place.pattern !== route.path) throw new Error(`${route.path} and ${at.place.pattern} are one path`);
    if (at.place.routes.has(route.method)) throw new Error(`${route.method} ${route.path} is defined twice`);
    at.place.routes.set(route.method, route);
    at.place.allow = allowed(at.place.routes);
    if (names.length === 0) this.#fixed.set(route.path, { place: at.place, segments: NO_SEGMENTS });
  }

  /** The place of a path, or null. A literal segment wins over a parameter, wherever both lead to a place. */
  match(path: string): Match | null {
    const fixed = this.#fixed.get(path);
    if (fixed !== undefined) return fixed;
    if (!path.startsWith('/')) return null;
    const segments = path.slice(1).split('/');
    const taken: string[] = [];
    const place = descend(this.#root, segments, 0, taken);
    return place === null ? null : { place, segments: taken };
  }
}

function branch(): Branch {
  return { literals: new Map(), parameter: null, place: null };
}

/** Tries the literal first and comes back for the parameter. Bounded by the depth of the tree, not by the path's length. */
function descend(at: Branch, segments: readonly string[], index: number, taken: string[]): Place | null {
  const segment = segments[index];
  if (segment === undefined) return at.place;
  const literal = at.literals.get(segment);
  if (literal !== undefined) {
    const found = descend(literal, segments, index + 1, taken);
    if (found !== null) return found;
  }
  if (at.parameter === null || segment === '') return null;
  taken.push(segment);
  const found = descend(at.parameter, segments, index + 1, taken);
  if (found === null) taken.pop();
  return found;
}

function allowed(routes: ReadonlyMap<Method, Route>): string {
  const methods = [...routes.keys()].map((method) => method.toUpperCase());
  if (routes.get('get')?.unsafe === false) methods.push('HEAD');
  return [...methods, 'OPTIONS'].join(', ');
}

/**
 * The parameters of a match, on an object without a prototype. One that is not percent-encoded UTF-8 or holds a NUL is an
 * issue, and stands as '' for the guard, which knows no such thing.
 */
export function readParams(match: Match): { values: Record<string, string>; issues: Issue[] } {
  const values: Record<string, string> = Object.create(null);
  const issues: Issue[] = [];
  match.place.names.forEach((name, index) => {
    let value = '';
    try {
      const sent = match.segments[index] ?? '';
      value = sent.includes('%') ? decodeURIComponent(sent) : sent;
    } catch {
      issues.push({ path: name, message: 'is not percent-encoded UTF-8' });
    }
    if (value.includes('\0')) {
      issues.push({ path: name, message: 'holds a NUL character' });
      value = '';
    }
    values[name] = value;
  });
  return { values, issues };
}

/** Path and query of a request target; null for one that names no path (`*`, or what no URL parser takes). */
export function splitTarget(target: string): { path: string; search: string } | null {
  const at = target.indexOf('?');
  if (target.startsWith('/')) {
    return at < 0 ? { path: target, search: '' } : { path: target.slice(0, at), search: target.slice(at + 1) };
  }
  // The absolute form, which a server must take (RFC 9112 3.2.2). Only the path counts.
  const absolute = /^https?:\/\/[^/?#]+(\/[^?#]*)?(?:\?([^#]*))?$/i.exec(target);
  return absolute === null ? null : { path: absolute[1] || '/', search: absolute[2] ?? '' };
}
