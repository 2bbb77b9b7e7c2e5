import type { Operation } from '../oracle/rows.ts';

/** An application in which who is a `reader` may `read`. */
export const SHOP: readonly Operation[] = [
  { kind: 'create-app', app: 'shop' },
  { kind: 'define-permission', app: 'shop', permission: 'read', type: 'binary', global: false, groupName: null },
  { kind: 'define-role', app: 'shop', role: 'reader' },
  {
    kind: 'permissions-of-role',
    app: 'shop',
    role: 'reader',
    permissions: [{ permission: 'read', accessLevel: 'allowed' }],
  },
];
