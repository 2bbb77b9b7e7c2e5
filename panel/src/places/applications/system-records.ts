/** Records that Usher seeds for itself: they cannot be deleted (docs/reference/administration.md#the-systems-own-records). */

const SYSTEM = 'auth';
const ROLES = ['application_manager', 'panel_admin'];
const PERMISSIONS = ['panel.access', 'applications.manage'];

export function isSystemApplication(appCode: string): boolean {
  return appCode === SYSTEM;
}

export function isSystemRole(appCode: string, code: string): boolean {
  return appCode === SYSTEM && ROLES.includes(code);
}

export function isSystemPermission(appCode: string, code: string): boolean {
  return appCode === SYSTEM && PERMISSIONS.includes(code);
}

/**
 * Whether a person may change what an application defines: its roles, permissions and administrators. Whoever rules `auth`
 * rules everything, so there only SuperAdmins may. Giving and taking its roles is for the service to decide.
 */
export function mayDefine(appCode: string, mayEdit: boolean, isSuperAdmin: boolean): boolean {
  return mayEdit && (isSuperAdmin || !isSystemApplication(appCode));
}
