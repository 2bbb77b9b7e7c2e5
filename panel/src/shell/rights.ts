/** What the signed-in person may administer. The service decides each request anew; this decides what is offered. */

import { createContext, useContext } from 'react';
import type { Out } from '../../../src/gen/api.ts';

export type AdminStatus = Out<'GET /api/profile/me/admin-status'>;

export interface Rights {
  readonly email: string;
  readonly isSuperAdmin: boolean;
  /** Whether there is anything to administer. */
  readonly any: boolean;
  /** As the service tells it, for what the members around do not say. */
  readonly status: AdminStatus;
  /** Null: the application is not theirs to see. */
  readonly level: (appCode: string) => 'view' | 'edit' | null;
  readonly mayEdit: (appCode: string) => boolean;
}

export const RightsContext = createContext<Rights | null>(null);

export function rightsOf(status: AdminStatus): Rights {
  const levels = new Map(status.applications.map(({ appCode, level }) => [appCode, level]));
  for (const appCode of status.appAdminFor) levels.set(appCode, 'edit');
  const level = (appCode: string) => (status.isSuperAdmin ? 'edit' : (levels.get(appCode) ?? null));
  return {
    email: status.email,
    isSuperAdmin: status.isSuperAdmin,
    any: status.isSuperAdmin || levels.size > 0 || status.panelPermissions.length > 0,
    status,
    level,
    mayEdit: (appCode) => level(appCode) === 'edit',
  };
}

export function useRights(): Rights {
  const rights = useContext(RightsContext);
  if (rights === null) throw new Error('useRights outside of RightsContext');
  return rights;
}
