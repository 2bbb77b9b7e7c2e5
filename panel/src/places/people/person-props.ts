import type { Out } from '../../../../src/gen/api.ts';

/** What can be changed about a person, each by a dialog that says first what follows. */
export type Changing =
  | { readonly kind: 'roles'; readonly app?: string }
  | { readonly kind: 'override'; readonly app?: string; readonly resourceType?: string; readonly resourceId?: string }
  | { readonly kind: 'seat'; readonly app: string; readonly add: boolean }
  | { readonly kind: 'active'; readonly active: boolean }
  | { readonly kind: 'superadmin'; readonly add: boolean };

export type User = Out<'GET /api/users/{email}'>;

/** What every view of a person is given. */
export interface PersonProps {
  readonly email: string;
  readonly user: User;
  /** Opens a dialog that changes something about the person. */
  readonly onChange: (change: Changing) => void;
}
