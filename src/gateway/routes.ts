/** The URL tree at a glance: a line for each resource, whose routes stand together in its file. */

import type { Config } from '../config.ts';
import type { Route } from './route.ts';
import { brandRoutes } from './routes/brands.ts';
import { checkRoutes } from './routes/checks.ts';
import { devMailRoutes } from './routes/dev-mail.ts';
import { documentation } from './routes/documentation.ts';
import { internalAuthRoutes } from './routes/internal-auth.ts';
import { manifestRoutes } from './routes/manifests.ts';
import { myAppRoutes } from './routes/my-apps.ts';
import { operationRoutes } from './routes/operations.ts';
import { profileRoutes } from './routes/profile.ts';
import { profileCheckRoutes } from './routes/profile-checks.ts';
import { providerRoutes } from './routes/provider.ts';
import { providerAdminRoutes } from './routes/provider-admin.ts';
import { providerMailRoutes } from './routes/provider-mail.ts';
import { roleRoutes } from './routes/roles.ts';
import { userAppRoutes } from './routes/user-apps.ts';

/** What the gateway serves. */
export function gatewayRoutes(config: Pick<Config, 'production'>): readonly Route[] {
  const routes: readonly Route[] = [
    ...checkRoutes, //        /api/check…
    ...profileCheckRoutes, // /api/profile/me/check…
    ...profileRoutes, //      /api/profile/me, /api/profile/:email
    ...myAppRoutes, //        /api/profile/me/apps…
    ...userAppRoutes, //      /api/users/:email/apps/:appCode/preferences, …/events
    ...internalAuthRoutes, // /api/internal/auth/application-events, …/profile-sync
    ...roleRoutes, //         /api/applications/:appCode/roles…
    ...manifestRoutes, //     /api/manifests/apply, /api/applications/:appCode/manifest
    ...providerRoutes, //      /api/idp/health, discovery, login, callback, webhook, /api/internal/auth/registration-locale
    ...providerAdminRoutes, // /api/idp/admin…
    ...brandRoutes(config.production), //     /api/admin/brands…
    ...providerMailRoutes, // /api/idp/notifications/email
    ...devMailRoutes(config.production), //   /dev/mail
    ...operationRoutes(config.production), // /healthz, /readyz, /metrics
  ];
  return [...routes, ...documentation(routes)]; // /api/openapi.json, /api/docs
}
