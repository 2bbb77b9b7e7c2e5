/**
 * The admin panel is itself an application (specification, "Panel scoping per application"): whoever asks about its users, on
 * cached facts or on rows of a write's own transaction, asks these questions.
 */

/** The application whose permissions say who may use the panel, and for what. */
export const PANEL_APP = 'auth';
/** The permission to enter the panel at all; binary, global. */
export const PANEL_ENTRY = 'panel.access';
/** The permission on one managed application, or without a resource on all of them; tiered. */
export const PANEL_MANAGE = 'applications.manage';

/** The resource under which the panel knows an application; null asks for all of them. */
export function managedResource(app: string | null): { resourceType: string; resourceId: string } {
  return app === null ? { resourceType: '', resourceId: '' } : { resourceType: 'application', resourceId: app };
}
