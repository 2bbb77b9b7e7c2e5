/** The URL tree at a glance: one line per resource; the routes of a resource share a file. */

import type { Config } from '../config/config.ts';
import { withDryRun } from './route/dry-run.ts';
import type { Route } from './route/route.ts';
import { accessRoutes } from './routes/access.ts';
import { administratorRoutes } from './routes/administrators.ts';
import { allSendRoutes } from './routes/all-sends.ts';
import { applicationOverrideRoutes } from './routes/application-overrides.ts';
import { applicationQuestionRoutes } from './routes/application-questions.ts';
import { applicationRoutes } from './routes/applications.ts';
import { assignmentRoutes } from './routes/assignments.ts';
import { auditRoutes } from './routes/audit.ts';
import { authzenRoutes } from './routes/authzen.ts';
import { brandImageRoutes } from './routes/brand-images.ts';
import { brandLookRoutes } from './routes/brand-looks.ts';
import { brandRoutes } from './routes/brands.ts';
import { checkRoutes } from './routes/checks.ts';
import { devMailRoutes } from './routes/dev-mail.ts';
import { devSignInRoutes } from './routes/dev-sign-in.ts';
import { documentation } from './routes/documentation.ts';
import { entityRoutes } from './routes/entities.ts';
import { inboxRoutes } from './routes/inbox.ts';
import { internalAuthRoutes } from './routes/internal-auth.ts';
import { languageRoutes } from './routes/languages.ts';
import { listRoutes } from './routes/lists.ts';
import { manifestRoutes } from './routes/manifests.ts';
import { matrixRoutes } from './routes/matrix.ts';
import { movingRoutes } from './routes/moving.ts';
import { myAppRoutes } from './routes/my-apps.ts';
import { nativeEventRoutes } from './routes/native-events.ts';
import { notificationPreferenceRoutes } from './routes/notification-preferences.ts';
import { notificationTypeRoutes } from './routes/notification-types.ts';
import { notificationRoutes } from './routes/notifications.ts';
import { offboardingRoutes } from './routes/offboarding.ts';
import { operationRoutes } from './routes/operations.ts';
import { operatorRoutes } from './routes/operators.ts';
import { overrideRoutes } from './routes/overrides.ts';
import { overviewRoutes } from './routes/overview.ts';
import { peopleImportRoutes } from './routes/people-import.ts';
import { permissionStreamRoutes } from './routes/permission-stream.ts';
import { permissionRoutes } from './routes/permissions.ts';
import { personalDataRoutes } from './routes/personal-data.ts';
import { profileRoutes } from './routes/profile.ts';
import { profileCheckRoutes } from './routes/profile-checks.ts';
import { providerRoutes } from './routes/provider.ts';
import { providerAdminRoutes } from './routes/provider-admin.ts';
import { providerMailRoutes } from './routes/provider-mail.ts';
import { proxyCheckRoutes } from './routes/proxy-checks.ts';
import { pushRoutes } from './routes/push.ts';
import { reconciliationRoutes } from './routes/reconciliation.ts';
import { refusedMailRoutes } from './routes/refused-mails.ts';
import { roleRoutes } from './routes/roles.ts';
import { searchRoutes } from './routes/search.ts';
import { takeBackRoutes } from './routes/take-backs.ts';
import { templateRoutes } from './routes/templates.ts';
import { unsubscribeRoutes } from './routes/unsubscribe.ts';
import { userAppRoutes } from './routes/user-apps.ts';
import { userRoutes } from './routes/users.ts';

/** The default of `gateway.userHeader`. */
const USER_HEADER = 'x-auth-request-email';

/** Every route of the gateway. */
export function gatewayRoutes(
  config: Pick<Config, 'production'> & Partial<Pick<Config, 'notifications' | 'gateway'>>,
): readonly Route[] {
  const routes: readonly Route[] = [
    ...checkRoutes, //        /api/check…
    ...proxyCheckRoutes(config.gateway?.userHeader ?? USER_HEADER), // /api/gateway/:appCode/check, and below it
    ...authzenRoutes, //      /authzen/:appCode/access/v1/…, /.well-known/authzen-configuration/authzen/:appCode
    ...profileCheckRoutes, // /api/profile/me/check…
    ...permissionStreamRoutes, // /api/profile/me/permissions/stream
    ...profileRoutes, //      /api/profile/me, /api/profile/:email
    ...myAppRoutes, //        /api/profile/me/apps…
    ...userAppRoutes, //      /api/users/:email/apps/:appCode/preferences, …/events
    ...internalAuthRoutes, // /api/internal/auth/application-events, …/profile-sync
    ...applicationRoutes, //  /api/applications, /api/applications/:appCode, …/i18n/:locale
    ...applicationQuestionRoutes, // /api/applications/:appCode/{explain,effective}
    ...listRoutes, //         /api/check/{subjects,resources}, /api/applications/:appCode/{subjects,resources}, /api/profile/me/check/resources
    ...entityRoutes, //       /api/applications/:appCode/entities…
    ...permissionRoutes, //   /api/applications/:appCode/permissions…
    ...pushRoutes, //         /api/profile/me/push…
    ...roleRoutes, //         /api/applications/:appCode/roles…
    ...matrixRoutes, //       /api/applications/:appCode/matrix
    ...languageRoutes, //     /api/languages…
    ...assignmentRoutes, //   /api/users/:email/apps/:appCode/roles, /api/applications/:appCode/roles/:roleId/users
    ...overrideRoutes, //     /api/users/:email/apps/:appCode/resources…
    ...applicationOverrideRoutes, // /api/applications/:appCode/overrides, …/delete
    ...administratorRoutes, // /api/users/admins…
    ...userRoutes, //         /api/users…, /api/profile/me/admin-status
    ...peopleImportRoutes, // /api/users/import
    ...personalDataRoutes, // /api/profile/me/export, /api/users/:email/{export,erase}
    ...movingRoutes, //       /api/users/:email/move
    ...offboardingRoutes, //  /api/users/:email/offboard
    ...accessRoutes, //       /api/profile/me/access, /api/users/:email/access
    ...searchRoutes, //       /api/search
    ...auditRoutes, //        /api/admin/audit, /api/applications/:appCode/audit
    ...overviewRoutes, //     /api/admin/{overview,stream}
    ...operatorRoutes, //     /api/admin/{keys,config}
    ...manifestRoutes, //     /api/manifests/apply, /api/applications/:appCode/manifest
    ...providerRoutes, //      /api/idp/health, discovery, login, callback, webhook, /api/internal/auth/registration-locale
    ...providerAdminRoutes, // /api/idp/admin…
    ...nativeEventRoutes, //  /api/idp/events, /api/idp/admin/actions/setup
    ...reconciliationRoutes, // /api/idp/reconcile
    ...brandRoutes(config.production), //     /api/admin/brands…
    ...brandImageRoutes, //   /api/admin/brands/:id/{logo,icon}, /media/:name
    ...brandLookRoutes, //    /api/brands, /api/admin/brands/:id/preview
    ...providerMailRoutes, // /api/idp/notifications/email
    ...refusedMailRoutes, //  /api/idp/admin/mails…
    ...devMailRoutes(config.production), //   /dev/mail
    ...devSignInRoutes(config.production), // /dev/sign-in
    ...notificationTypeRoutes, // /api/applications/:appCode/notification-types…
    ...templateRoutes, //     /api/applications/:appCode/templates…
    ...notificationRoutes, // /api/internal/notifications, /api/applications/:appCode/notifications…
    ...takeBackRoutes, //     /api/applications/:appCode/notifications/cancel, …/:id/cancel
    ...allSendRoutes, //      /api/admin/notifications…
    ...notificationPreferenceRoutes, // /api/profile/me/notifications/:appCode, …/preferences/…
    ...inboxRoutes, //        /api/profile/me/notifications/{inbox,stream}…
    ...unsubscribeRoutes(config.notifications?.settingsUrl ?? null), // /api/notifications/unsubscribe
    ...operationRoutes(config.production), // /healthz, /readyz, /readyz/checks, /metrics
  ];
  const all = routes.map((route) => (route.dryRun ? withDryRun(route) : route));
  return [...all, ...documentation(all)]; // /api/openapi.json, /api/docs
}
