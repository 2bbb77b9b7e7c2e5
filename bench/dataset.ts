/**
 * The data of every benchmark, made from a seed: 10,000 users; 10 applications of 20 permissions and 8 roles; 20,000
 * overrides; some administrators of every kind, inactive users, and overrides that lie dormant. Two more applications,
 * of 50 and of 30 permissions, serve BulkCheck and Effective and hold overrides of their own.
 */
import { Random } from './random.ts';

export type Level = 0 | 1 | 2 | 3;

export interface BenchUser {
  email: string;
  /** False: an address that was only mentioned, without a user record. */
  registered: boolean;
  providerActive: boolean;
  blocked: boolean;
  superadmin: boolean;
}

export interface BenchPermission {
  code: string;
  tiered: boolean;
  global: boolean;
  groupName: string | null;
}

export interface BenchRole {
  code: string;
  levels: ReadonlyMap<string, Level>;
}

export interface BenchOverride {
  email: string;
  resourceType: string;
  resourceId: string;
  permission: string;
  level: Level;
}

export interface BenchApplication {
  code: string;
  name: string;
  entities: readonly string[];
  permissions: readonly BenchPermission[];
  roles: readonly BenchRole[];
  admins: Set<string>;
  /** E-mail to role codes. */
  assignments: Map<string, readonly string[]>;
  overrides: BenchOverride[];
}

export interface Dataset {
  users: readonly BenchUser[];
  applications: ReadonlyMap<string, BenchApplication>;
  /** The codes of the ten applications that the 50,000 questions are about. */
  codes: readonly string[];
}

export const BULK_APP = 'catalogue';
export const EFFECTIVE_APP = 'suite';
/** One of the ten, with 20 permissions. */
export const USUAL_APP = 'crm';
/** How many users of the data set belong to the applications of BulkCheck and Effective. */
export const WIDE_USERS = 2000;

const APPLICATIONS = [
  ['crm', 'contact', 'deal'],
  ['billing', 'invoice', 'account'],
  ['warehouse', 'shelf', 'shipment'],
  ['helpdesk', 'ticket', 'queue'],
  ['payroll', 'payslip', 'contract'],
  ['fleet', 'vehicle', 'trip'],
  ['archive', 'document', 'folder'],
  ['portal', 'page', 'site'],
  ['lab', 'sample', 'study'],
  ['school', 'course', 'pupil'],
] as const;

const VERBS = ['read', 'edit', 'delete', 'export', 'import', 'approve', 'assign', 'archive', 'share', 'comment'];
const ROLES = ['viewer', 'editor', 'manager', 'auditor', 'clerk', 'lead', 'guest', 'operator'];
const FIRST = ['jana', 'petr', 'eva', 'tomas', 'lucie', 'martin', 'anna', 'jakub', 'marie', 'pavel', 'alena', 'david'];
const LAST = ['novak', 'svoboda', 'dvorak', 'cerny', 'prochazka', 'kucera', 'vesely', 'horak', 'nemec', 'marek'];
const PRESIDING = 5;

function makeUsers(random: Random, count: number): BenchUser[] {
  const users: BenchUser[] = [];
  for (let i = 0; i < count; i++) {
    const superadmin = i % Math.floor(count / PRESIDING) === 17;
    const blocked = !superadmin && random.chance(0.01);
    const providerActive = superadmin || !random.chance(0.01);
    users.push({
      email: `${random.pick(FIRST)}.${random.pick(LAST)}.${i}@example.com`,
      registered: superadmin || blocked || !providerActive || random.chance(0.97),
      providerActive,
      blocked,
      superadmin,
    });
  }
  // An inactive SuperAdmin is denied everything: the data must be able to show it.
  const inactive = users[17];
  if (inactive) inactive.blocked = true;
  return users;
}

function makeApplication(random: Random, code: string, nouns: readonly string[], size: number): BenchApplication {
  const permissions: BenchPermission[] = [];
  for (let i = 0; i < size; i++) {
    const noun = nouns[i % nouns.length] as string;
    const round = Math.floor(i / (nouns.length * VERBS.length));
    const verb = VERBS[Math.floor(i / nouns.length) % VERBS.length] as string;
    permissions.push({
      code: round === 0 ? `${noun}.${verb}` : `${noun}.${verb}-${round + 1}`,
      tiered: random.chance(0.5),
      global: random.chance(0.3),
      groupName: random.chance(0.8) ? `${noun}s` : null,
    });
  }
  const roles = ROLES.map((role): BenchRole => {
    const held = random.sample(permissions, Math.round(size * (0.2 + random.next() * 0.4)));
    return { code: role, levels: new Map(held.map((p) => [p.code, p.tiered ? (random.chance(0.5) ? 3 : 2) : 1])) };
  });
  const name = code.charAt(0).toUpperCase() + code.slice(1);
  return { code, name, entities: nouns, permissions, roles, admins: new Set(), assignments: new Map(), overrides: [] };
}

function overrideLevel(random: Random, permission: BenchPermission): Level {
  if (random.chance(0.5)) return 0;
  if (!permission.tiered) return 1;
  return random.chance(0.5) ? 3 : 2;
}

/**
 * Adds `count` distinct overrides of one user. A few are of global permissions, where they lie dormant: such as remain when
 * a permission becomes global, and such as a manifest may not make (`dormant: false`).
 */
function addOverrides(random: Random, app: BenchApplication, email: string, count: number, dormant = true): void {
  const seen = new Set<string>();
  while (seen.size < count) {
    const permission = random.pick(app.permissions);
    if (permission.global && !(dormant && random.chance(0.15))) continue;
    const resourceType = random.pick(app.entities);
    const resourceId = `${resourceType}-${random.below(5000)}`;
    const key = `${resourceType}:${resourceId}:${permission.code}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const level = overrideLevel(random, permission);
    app.overrides.push({ email, resourceType, resourceId, permission: permission.code, level });
  }
}

function assign(random: Random, app: BenchApplication, email: string): void {
  app.assignments.set(email, random.sample(ROLES, 1 + random.below(2)));
}

/** The whole data set; equal calls give equal data. */
export function makeDataset(seed = 20260001, userCount = 10_000): Dataset {
  const random = new Random(seed);
  const users = makeUsers(random, userCount);
  const applications = new Map<string, BenchApplication>();
  for (const [code, ...nouns] of APPLICATIONS) applications.set(code, makeApplication(random, code, nouns, 20));
  const codes = [...applications.keys()];
  for (const user of users) {
    const memberOf = random.sample(codes, 4);
    memberOf.forEach((code, position) => {
      const app = applications.get(code) as BenchApplication;
      assign(random, app, user.email);
      // Two overrides a user, in the first two of its applications.
      if (position < 2) addOverrides(random, app, user.email, 1);
    });
  }
  for (const code of codes) {
    const app = applications.get(code) as BenchApplication;
    for (const user of random.sample(users, 5)) app.admins.add(user.email);
  }
  for (const [code, size] of [
    [BULK_APP, 50],
    [EFFECTIVE_APP, 30],
  ] as const) {
    const app = makeApplication(random, code, ['product', 'price', 'supplier'], size);
    for (const user of users.slice(0, Math.min(WIDE_USERS, userCount))) {
      assign(random, app, user.email);
      if (random.chance(0.5)) addOverrides(random, app, user.email, 1);
    }
    for (const user of random.sample(users.slice(0, WIDE_USERS), 20)) app.admins.add(user.email);
    applications.set(code, app);
  }
  return { users, applications, codes };
}

/** What the manifest benchmark applies: one application, 10,000 users with roles in it and one override each. */
export function makeManifestDataset(seed = 20260002, userCount = 10_000): Dataset {
  const random = new Random(seed);
  const app = makeApplication(random, 'orders', ['order', 'return', 'voucher'], 30);
  const users = makeUsers(random, userCount).map(({ email }): BenchUser => {
    assign(random, app, email);
    addOverrides(random, app, email, 1, false);
    return { email, registered: false, providerActive: true, blocked: false, superadmin: false };
  });
  return { users, applications: new Map([[app.code, app]]), codes: [app.code] };
}
