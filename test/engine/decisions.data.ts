/**
 * Decisions as data. Each case cites what it follows in docs/reference/decisions.md: `S` the six rules and levels,
 * `C` everything else. `given` holds on to one user (u@example.com), one application (shop) and one resource (order 7).
 */

export interface Given {
  /** Absent: no record. */
  user?: 'active' | 'inactive';
  superadmin?: true;
  appAdmin?: true;
  /** Absent: the application does not define it. */
  permission?: { type: 'binary' | 'tiered'; global: boolean };
  /** What each role that the user holds gives of the permission; null: the role does not hold it. */
  roles?: readonly ('allowed' | 'view' | 'edit' | null)[];
  /** What a role that the user does not hold gives. */
  otherRole?: 'allowed' | 'view' | 'edit';
  override?: 'denied' | 'allowed' | 'view' | 'edit';
  /** The override of another user for the same resource. */
  overrideOfOther?: 'denied' | 'allowed' | 'view' | 'edit';
  /** The application does not exist at all. */
  noApplication?: true;
}

export interface Case {
  cites: string;
  given: Given;
  /** The resource that the question names: the one with the override, others, or none. */
  about?: 'the resource' | 'another id' | 'another type';
  asked?: 'view' | 'edit';
  expected: {
    allowed: boolean;
    accessLevel: 'allowed' | 'view' | 'edit' | null;
    source: 'role' | 'override' | 'superadmin' | 'app_admin' | null;
  };
}

const BINARY = { type: 'binary', global: false } as const;
const TIERED = { type: 'tiered', global: false } as const;
const GLOBAL = { type: 'tiered', global: true } as const;
const DENIED = { allowed: false, accessLevel: null, source: null } as const;

export const CASES: readonly Case[] = [
  { cites: 'S rule 1: inactive', given: { user: 'inactive', permission: TIERED, roles: ['edit'] }, expected: DENIED },
  {
    cites: 'S rule 1: even for SuperAdmin',
    given: { user: 'inactive', superadmin: true, permission: TIERED },
    expected: DENIED,
  },
  { cites: 'S rule 1 before 3', given: { user: 'inactive', appAdmin: true, permission: BINARY }, expected: DENIED },
  {
    cites: 'S rule 1 before 4; C: source null',
    given: { user: 'inactive', permission: TIERED, override: 'edit' },
    about: 'the resource',
    expected: DENIED,
  },
  {
    cites: 'C: a user without a record is not inactive',
    given: { permission: TIERED, roles: ['view'] },
    expected: { allowed: true, accessLevel: 'view', source: 'role' },
  },
  {
    cites: 'S rule 2; C: edit for every permission, binary too',
    given: { user: 'active', superadmin: true, permission: BINARY },
    expected: { allowed: true, accessLevel: 'edit', source: 'superadmin' },
  },
  {
    cites: 'C rule 2: defined or not',
    given: { superadmin: true },
    asked: 'edit',
    expected: { allowed: true, accessLevel: 'edit', source: 'superadmin' },
  },
  {
    cites: 'C rule 2: in every application, existing or not',
    given: { superadmin: true, noApplication: true },
    expected: { allowed: true, accessLevel: 'edit', source: 'superadmin' },
  },
  {
    cites: 'S rule 2 before 4',
    given: { superadmin: true, permission: TIERED, override: 'denied' },
    about: 'the resource',
    expected: { allowed: true, accessLevel: 'edit', source: 'superadmin' },
  },
  {
    cites: 'S rule 2 before 3; C: source superadmin',
    given: { superadmin: true, appAdmin: true, permission: TIERED },
    expected: { allowed: true, accessLevel: 'edit', source: 'superadmin' },
  },
  {
    cites: 'C rule 3: edit (tiered)',
    given: { appAdmin: true, permission: TIERED },
    asked: 'edit',
    expected: { allowed: true, accessLevel: 'edit', source: 'app_admin' },
  },
  {
    cites: 'C rule 3: allowed (binary), which ignores the level asked for',
    given: { appAdmin: true, permission: BINARY },
    asked: 'edit',
    expected: { allowed: true, accessLevel: 'allowed', source: 'app_admin' },
  },
  {
    cites: 'C rule 3: a permission the application does not define, whatever level is asked for',
    given: { appAdmin: true },
    asked: 'edit',
    expected: { allowed: true, accessLevel: 'allowed', source: 'app_admin' },
  },
  {
    cites: 'S rule 3: resource-level deny does not apply',
    given: { appAdmin: true, permission: TIERED, override: 'denied' },
    about: 'the resource',
    expected: { allowed: true, accessLevel: 'edit', source: 'app_admin' },
  },
  {
    cites: 'S rule 4: an override overrides roles, denying',
    given: { permission: TIERED, roles: ['edit'], override: 'denied' },
    about: 'the resource',
    expected: { allowed: false, accessLevel: null, source: 'override' },
  },
  {
    cites: 'S rule 4: an override overrides roles, granting',
    given: { permission: BINARY, override: 'allowed' },
    about: 'the resource',
    asked: 'edit',
    expected: { allowed: true, accessLevel: 'allowed', source: 'override' },
  },
  {
    cites: 'S rule 4: also to less than the roles give',
    given: { permission: TIERED, roles: ['edit'], override: 'view' },
    about: 'the resource',
    asked: 'edit',
    expected: { allowed: false, accessLevel: 'view', source: 'override' },
  },
  {
    cites: 'C rule 4: accessLevel view of a granting override',
    given: { permission: TIERED, override: 'view' },
    about: 'the resource',
    asked: 'view',
    expected: { allowed: true, accessLevel: 'view', source: 'override' },
  },
  {
    cites: 'S rule 4: skipped when no resource is given',
    given: { permission: TIERED, roles: ['view'], override: 'denied' },
    expected: { allowed: true, accessLevel: 'view', source: 'role' },
  },
  {
    cites: 'S rule 4: of this resource id only',
    given: { permission: TIERED, override: 'edit' },
    about: 'another id',
    expected: DENIED,
  },
  {
    cites: 'S rule 4: of this resource type only',
    given: { permission: TIERED, override: 'edit' },
    about: 'another type',
    expected: DENIED,
  },
  {
    cites: 'S rule 4: of this e-mail only',
    given: { permission: TIERED, overrideOfOther: 'edit' },
    about: 'the resource',
    expected: DENIED,
  },
  {
    cites: 'C rule 4: only with global false; a granting one is dormant',
    given: { permission: GLOBAL, override: 'edit' },
    about: 'the resource',
    expected: DENIED,
  },
  {
    cites: 'C rule 4: only with global false; a denying one is dormant',
    given: { permission: GLOBAL, roles: ['view'], override: 'denied' },
    about: 'the resource',
    expected: { allowed: true, accessLevel: 'view', source: 'role' },
  },
  {
    cites: 'S rule 5: the highest level over all roles',
    given: { permission: TIERED, roles: ['view', 'edit', null] },
    asked: 'edit',
    expected: { allowed: true, accessLevel: 'edit', source: 'role' },
  },
  {
    cites: 'S rule 5: of the roles that the user holds',
    given: { permission: TIERED, roles: ['view'], otherRole: 'edit' },
    asked: 'edit',
    expected: { allowed: false, accessLevel: 'view', source: 'role' },
  },
  {
    cites: 'S access levels: view allows view',
    given: { permission: TIERED, roles: ['view'] },
    asked: 'view',
    expected: { allowed: true, accessLevel: 'view', source: 'role' },
  },
  {
    cites: 'S access levels: edit allows view',
    given: { permission: TIERED, roles: ['edit'] },
    asked: 'view',
    expected: { allowed: true, accessLevel: 'edit', source: 'role' },
  },
  {
    cites: 'S access levels: binary is OR over roles; C: ignores the level asked for',
    given: { permission: BINARY, roles: [null, 'allowed'] },
    asked: 'edit',
    expected: { allowed: true, accessLevel: 'allowed', source: 'role' },
  },
  { cites: 'S rule 6', given: { user: 'active', permission: TIERED }, expected: DENIED },
  { cites: 'S rule 6: a role without the permission', given: { permission: BINARY, roles: [null] }, expected: DENIED },
  { cites: 'C: unknown permission', given: { user: 'active', roles: ['edit'] }, expected: DENIED },
  { cites: 'C: unknown application', given: { user: 'active', noApplication: true }, expected: DENIED },
];
