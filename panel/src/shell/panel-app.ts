/** The panel's own application, and the type that belongs to the identity provider. Both follow rules of their own. */

import type { Rights } from './rights.ts';

/** The application that the panel itself is: who has what here (docs/reference/administration.md#the-systems-own-records). */
export const PANEL_APP = 'auth';

/** The type of the provider's mails: nobody sends or retries them here, and its templates are SuperAdmins'. */
export const PROVIDER_TYPE = 'auth_idp';

/**
 * Whether this person may write in an application: what it defines, who has what, and what is sent. Whoever rules the panel's own
 * rules everything, so there only SuperAdmins may.
 */
export function mayWriteIn(rights: Pick<Rights, 'isSuperAdmin' | 'mayEdit'>, appCode: string): boolean {
  return appCode === PANEL_APP ? rights.isSuperAdmin : rights.mayEdit(appCode);
}
