/** The URL tree at a glance. */

import type { Config } from '../config.ts';
import type { Route } from './route.ts';
import { bulkCheck, check, clearCache, effective } from './routes/checks.ts';
import { documentation } from './routes/documentation.ts';
import { applyManifest, exportManifest } from './routes/manifests.ts';
import { healthz, keyedMetrics, openMetrics, readyz } from './routes/operations.ts';
import { myBulkCheck, myCheck, myEffective } from './routes/profile-checks.ts';
import {
  changeRole,
  createRole,
  deleteRole,
  listRoles,
  readRolePermissions,
  replaceRolePermissions,
} from './routes/roles.ts';

/** What the gateway serves. */
export function gatewayRoutes(config: Pick<Config, 'production'>): readonly Route[] {
  const routes: Route[] = [
    ...[check, bulkCheck, effective, clearCache], //  /api/check…
    ...[myCheck, myBulkCheck, myEffective], //        /api/profile/me/check…
    ...[applyManifest, exportManifest], //            /api/manifests/apply, …/manifest
    ...[listRoles, createRole, changeRole, deleteRole, readRolePermissions, replaceRolePermissions], // …/roles…
    ...[healthz, readyz], //                          /healthz, /readyz
    config.production ? keyedMetrics : openMetrics, // /metrics
  ];
  return [...routes, ...documentation(routes)]; //    /api/openapi.json, /api/docs
}

/** What the operators' listener serves, where `ops.port` is configured. */
export const opsRoutes: readonly Route[] = [healthz, readyz, openMetrics];
