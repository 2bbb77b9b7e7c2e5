/**
 * The admin panel is itself an application (docs/reference/administration.md#panel-levels): questions about its users, on
 * cached facts or on rows of a write's own transaction, use these codes.
 */

/** The application whose permissions control the panel. */
export const PANEL_APP = 'auth';
/** The permission to enter the panel; binary, global. */
export const PANEL_ENTRY = 'panel.access';
/** The permission on one managed application, or without a resource on all of them; tiered. */
export const PANEL_MANAGE = 'applications.manage';
/** The entity whose records are the managed applications. */
export const PANEL_ENTITY = 'application';
/** This role enters the panel; overrides grant applications. */
export const PANEL_MANAGER = 'application_manager';
/** This role enters the panel and manages every application. */
export const PANEL_ADMIN = 'panel_admin';
/**
 * The type of the identity provider's e-mails, in every application. Its templates contain reset codes, so their authors could
 * take over any account.
 */
export const AUTH_TYPE = 'auth_idp';

/** The panel's resource for an application; null stands for all of them. */
export function managedResource(app: string | null): { resourceType: string; resourceId: string } {
  return app === null ? { resourceType: '', resourceId: '' } : { resourceType: PANEL_ENTITY, resourceId: app };
}
