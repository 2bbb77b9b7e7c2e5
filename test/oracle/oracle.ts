/**
 * The right answer, from the words of docs/reference/decisions.md,
 * told over plain lists of rows: every rule that matches makes a claim, and the claim of the lowest number wins.
 * On purpose nothing here comes from src, and nothing is shaped as it is there.
 */
import type { AccessLevel, Rows } from './rows.ts';

export interface OracleQuestion {
  email: string;
  app: string;
  permission: string;
  /** '' when the question names no resource. */
  resourceType: string;
  resourceId: string;
}

export interface OracleAnswer {
  granted: boolean;
  accessLevel: AccessLevel | null;
  source: 'superadmin' | 'app_admin' | 'override' | 'role' | null;
}

interface Claim extends OracleAnswer {
  rule: 1 | 2 | 3 | 4 | 5 | 6;
}

/** "Order: edit > view > allowed > none." */
const ORDER = ['none', 'allowed', 'view', 'edit'];

/** What is held, whatever level was asked for. */
export function answerOf(rows: Rows, question: OracleQuestion): OracleAnswer {
  const [first] = claims(rows, question).sort((a, b) => a.rule - b.rule);
  if (first === undefined) throw new Error('rule 6 always claims');
  const { granted, accessLevel, source } = first;
  return { granted, accessLevel, source };
}

/** What each rule makes of a question, in the words of docs/reference/decisions.md#explain. */
export function explanationOf(rows: Rows, question: OracleQuestion) {
  const { email, app, permission } = question;
  const all = claims(rows, question);
  const of = (rule: Claim['rule']) => all.find((claim) => claim.rule === rule);
  const first = Math.min(...all.map(({ rule }) => rule));
  const number = (level: AccessLevel | null | undefined) => ORDER.indexOf(level ?? 'none');
  const override = of(4);
  const defined = rows.permissions.some((row) => row.app === app && row.permission === permission);
  const roles = rows.assignments
    .filter((row) => row.app === app && row.email === email)
    .map(({ role }) => {
      const given = rows.rolePermissions.find((row) => {
        return row.app === app && row.role === role && row.permission === permission;
      });
      return [role, number(given?.accessLevel)] as const;
    })
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const told = {
    rule: first,
    decide: [first],
    applying: all.map(({ rule }) => rule).sort((a, b) => a - b),
    levels: ([1, 2, 3, 4, 5, 6] as const).map((rule) => number(of(rule)?.accessLevel)),
    override: override === undefined ? null : { granted: override.granted, level: number(override.accessLevel) },
    roles,
    known: {
      user: rows.users.some((row) => row.email === email),
      application: rows.applications.some((row) => row.app === app),
      permission: defined,
    },
  };
  return { ...answerOf(rows, question), told };
}

/** Whether the question is allowed at the level asked for; null asks for any. */
export function isAllowedByOracle(rows: Rows, question: OracleQuestion, asked: 'view' | 'edit' | null): boolean {
  const { granted, accessLevel } = answerOf(rows, question);
  if (!granted || accessLevel === null) return false;
  // "A binary permission (and an undefined one allowed to an app admin) ignores it."
  if (asked === null || accessLevel === 'allowed') return true;
  return ORDER.indexOf(accessLevel) >= ORDER.indexOf(asked);
}

function claims(rows: Rows, question: OracleQuestion): Claim[] {
  const { email, app, permission, resourceType, resourceId } = question;
  const found: Claim[] = [{ rule: 6, granted: false, accessLevel: null, source: null }];
  const defined = rows.permissions.filter((row) => row.app === app && row.permission === permission);

  if (rows.users.some((user) => user.email === email && user.active === false)) {
    found.push({ rule: 1, granted: false, accessLevel: null, source: null });
  }
  if (rows.superadmins.some((row) => row.email === email)) {
    found.push({ rule: 2, granted: true, accessLevel: 'edit', source: 'superadmin' });
  }
  if (rows.appAdmins.some((row) => row.app === app && row.email === email)) {
    const tiered = defined.some(({ type }) => type === 'tiered');
    found.push({ rule: 3, granted: true, accessLevel: tiered ? 'edit' : 'allowed', source: 'app_admin' });
  }
  if (resourceType !== '' && resourceId !== '' && defined.some(({ global }) => global === false)) {
    for (const override of rows.overrides) {
      if (override.permission !== permission) continue;
      const names = [override.app, override.email, override.resourceType, override.resourceId, override.permission];
      if (JSON.stringify(names) !== JSON.stringify([app, email, resourceType, resourceId, permission])) continue;
      found.push({ rule: 4, granted: override.granted, accessLevel: override.accessLevel, source: 'override' });
    }
  }
  const held = rows.assignments
    .filter((row) => row.app === app && row.email === email)
    .flatMap(({ role }) => rows.rolePermissions.filter((row) => row.app === app && row.role === role))
    .filter((row) => row.permission === permission && defined.length === 1)
    .map(({ accessLevel }) => accessLevel)
    .sort((a, b) => ORDER.indexOf(b) - ORDER.indexOf(a));
  if (held[0] !== undefined) found.push({ rule: 5, granted: true, accessLevel: held[0], source: 'role' });
  return found;
}

/** A code in a question that a strict application refuses; `permission` is null where the resource type is the unknown one. */
export interface OracleRefusal {
  permission: string | null;
}

/**
 * "A question that names a permission which it does not define, or a resourceType that its catalog (once it has an entry)
 * does not list." Null when the question is answered. `permissions` are those of the question; none of an effective one.
 */
export function refusalOf(
  rows: Rows,
  { app, resourceType }: OracleQuestion,
  permissions: readonly string[],
): OracleRefusal | null {
  if (!rows.applications.some((row) => row.app === app && row.strict)) return null;
  const catalog = rows.entities.filter((row) => row.app === app);
  if (resourceType !== '' && catalog.length > 0 && !catalog.some(({ entity }) => entity === resourceType)) {
    return { permission: null };
  }
  const defined = rows.permissions.filter((row) => row.app === app).map(({ permission }) => permission);
  const permission = permissions.find((code) => !defined.includes(code));
  return permission === undefined ? null : { permission };
}

export interface OracleEffective extends OracleAnswer {
  code: string;
  type: 'binary' | 'tiered';
  groupName: string | null;
  global: boolean;
}

/** "Every permission the application defines, ordered by groupName (nulls last), then code, both by UTF-16 code units." */
export function effectiveOf(rows: Rows, subject: Omit<OracleQuestion, 'permission'>): OracleEffective[] {
  const own = rows.permissions.filter((row) => row.app === subject.app);
  const groups = [...new Set(own.map(({ groupName }) => groupName))];
  const ordered = [...groups.filter((group) => group !== null).sort(), null];
  return ordered.flatMap((group) =>
    own
      .filter(({ groupName }) => groupName === group)
      .map(({ permission }) => permission)
      .sort()
      .map((code) => {
        const row = own.find(({ permission }) => permission === code);
        if (row === undefined) throw new Error('it was just there');
        const answer = answerOf(rows, { ...subject, permission: code });
        return { code, type: row.type, groupName: row.groupName, global: row.global, ...answer };
      }),
  );
}
