/**
 * The admin panel is itself an application (docs/reference/administration.md#panel-levels): whoever asks about its users, on
 * cached facts or on rows of a write's own transaction, asks these questions.
 */

/** The application whose permissions say who may use the panel, and for what. */
export const PANEL_APP = 'auth';
/** The permission to enter the panel at all; binary, global. */
export const PANEL_ENTRY = 'panel.access';
/** The permission on one managed application, or without a resource on all of them; tiered. */
export const PANEL_MANAGE = 'applications.manage';
/** The entity whose records are the managed applications. */
export const PANEL_ENTITY = 'application';
/** Enters the panel; overrides say which applications are seen there. */
export const PANEL_MANAGER = 'application_manager';
/** Enters the panel and manages every application. */
export const PANEL_ADMIN = 'panel_admin';
/**
 * The type of the identity provider's e-mails, whichever application they are sent in. Its templates hold reset codes: whoever
 * writes them can become anybody.
 */
export const AUTH_TYPE = 'auth_idp';

/** The resource under which the panel knows an application; null asks for all of them. */
export function managedResource(app: string | null): { resourceType: string; resourceId: string } {
  return app === null ? { resourceType: '', resourceId: '' } : { resourceType: PANEL_ENTITY, resourceId: app };
}
