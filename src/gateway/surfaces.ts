/** Which surface a route belongs to: what a listener that serves some surfaces only is made of (docs/guides/listeners.md). */

import type { Surface } from '../config/listeners.ts';
import type { Guard } from './route/guards.ts';
import type { Route } from './route/route.ts';

/** Paths whose guard does not say it: most of them are open. */
const BY_PATH: ReadonlyMap<string, Surface> = new Map([
  ['/healthz', 'operations'],
  ['/readyz', 'operations'],
  ['/readyz/checks', 'operations'],
  ['/metrics', 'operations'],
  ['/api/openapi.json', 'panel'],
  ['/api/docs', 'panel'],
  ['/api/manifest.schema.json', 'panel'],
  ['/dev/mail', 'panel'],
  ['/dev/mail/:id', 'panel'],
  ['/dev/sign-in', 'panel'],
  ['/media/:name', 'people'],
  ['/api/idp/health', 'people'],
  ['/api/idp/discovery', 'people'],
  ['/api/idp/login', 'people'],
  ['/api/idp/callback', 'people'],
  ['/api/notifications/unsubscribe', 'people'],
]);

/** `open` is decided by path alone. */
const BY_GUARD: Readonly<Record<Exclude<Guard<unknown>['kind'], 'open'>, Surface>> = {
  key: 'backends',
  proxy: 'backends',
  webhookSecret: 'webhooks',
  signature: 'webhooks',
  signedIn: 'people',
  superAdmin: 'administration',
  panelEntry: 'administration',
  anyAdministrator: 'administration',
  managerOfAll: 'administration',
  applicationLevel: 'administration',
};

/** One, or two for a route that takes a token or a key. Throws for an open route that nobody has put on a surface. */
export function surfacesOf({ path, guard }: Pick<Route, 'path' | 'guard'>): readonly Surface[] {
  const byPath = BY_PATH.get(path);
  if (byPath !== undefined) return [byPath];
  if (guard.kind === 'open') throw new Error(`the open route ${path} is on no surface: name one in surfaces.ts`);
  const own = BY_GUARD[guard.kind];
  return guard.alternative === 'internalKey' ? [own, 'backends'] : [own];
}
