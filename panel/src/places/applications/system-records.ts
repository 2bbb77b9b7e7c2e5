/** Records that Usher seeds for itself: they cannot be deleted (docs/reference/administration.md#the-systems-own-records). */

import { PANEL_APP } from '../../shell/panel-app.ts';

const ROLES = ['application_manager', 'panel_admin'];
const PERMISSIONS = ['panel.access', 'applications.manage'];

export function isSystemRole(appCode: string, code: string): boolean {
  return appCode === PANEL_APP && ROLES.includes(code);
}

export function isSystemPermission(appCode: string, code: string): boolean {
  return appCode === PANEL_APP && PERMISSIONS.includes(code);
}
