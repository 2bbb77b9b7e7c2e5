import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseRevision } from '../../src/engine/question.ts';
import { effectiveOf } from '../oracle/oracle.ts';
import { type AccessLevel, applyTo, NO_ROWS, type Operation, type Rows } from '../oracle/rows.ts';
import { History, NAMES, pick, type Random, seeded, some } from '../oracle/world.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { numberOf } from '../support/revisions.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/**
 * Administrators write over REST on one instance; what another instance decides is compared with the oracle, replayed to the
 * revision of each answer. Each write, too, answers the revision that the next one follows.
 */
const LONG = process.env.USHER_LONG !== undefined;
const MOST_MS = LONG ? 600_000 : 10_000;
const MOST_WRITES = LONG ? 20_000 : 400;
const ASKERS = 2;

const BASIS: readonly Operation[] = [
  { kind: 'superadmin', email: 'admin@example.com', is: true },
  ...NAMES.apps.flatMap((app): Operation[] => [
    { kind: 'create-app', app },
    { kind: 'define-permission', app, permission: 'invoices.read', type: 'tiered', global: false, groupName: 'Zebra' },
    { kind: 'define-permission', app, permission: 'constructor', type: 'binary', global: false, groupName: null },
    { kind: 'define-permission', app, permission: 'toString', type: 'tiered', global: true, groupName: 'apple' },
    ...NAMES.roles.map((role): Operation => ({ kind: 'define-role', app, role })),
  ]),
];

/** One write of each kind comes first, however slow the machine is. */
const [EMAIL = '', APP = '', ROLE = ''] = [NAMES.emails[0], NAMES.apps[0], NAMES.roles[0]];
const FIRSTS: readonly Operation[] = [
  { kind: 'roles-of-user', app: APP, email: EMAIL, roles: [ROLE] },
  {
    kind: 'permissions-of-role',
    app: APP,
    role: ROLE,
    permissions: [{ permission: 'invoices.read', accessLevel: 'view' }],
  },
  {
    kind: 'overrides-of-user',
    app: APP,
    email: EMAIL,
    resourceType: 'invoice',
    resourceId: '1',
    overrides: [{ permission: 'invoices.read', granted: false, accessLevel: null }],
  },
  { kind: 'user', email: EMAIL, active: false },
  { kind: 'user', email: EMAIL, active: true },
  { kind: 'superadmin', email: EMAIL, is: true },
  { kind: 'superadmin', email: EMAIL, is: false },
  { kind: 'app-admin', app: APP, email: EMAIL, is: true },
  { kind: 'app-admin', app: APP, email: EMAIL, is: false },
  { kind: 'delete-role', app: APP, role: ROLE },
  { kind: 'define-role', app: APP, role: ROLE },
];

/** The basis as a manifest. */
function manifestOf(app: string): string {
  return `
application: { code: ${app}, name: ${app} }
permissions:
  - { code: invoices.read, type: tiered, groupName: Zebra }
  - { code: constructor, type: binary }
  - { code: toString, type: tiered, global: true, groupName: apple }
roles: [${NAMES.roles.map((role) => `{ code: ${role} }`).join(', ')}]
`;
}

describe('administrative writes across instances', () => {
  let storage: TestStorage;
  let writing: RunningUsher;
  let asking: RunningUsher;
  let root: Rest;
  const permissionIds = new Map<string, number>();

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    writing = await startUsher(storage);
    asking = await startUsher(storage);
    root = await Rest.as(writing, 'admin@example.com');
    for (const app of NAMES.apps) await writing.app.manifests.apply(manifestOf(app), { actor: 'cli' });
    const rows = await writing.app.database.read(
      async (tx) =>
        await tx.kysely
          .selectFrom('permission as p')
          .innerJoin('application as a', 'a.id', 'p.applicationId')
          .select(['p.id', 'p.code', 'a.code as app'])
          .execute(),
    );
    for (const { id, code, app } of rows) permissionIds.set(`${app} ${code}`, id);
  });
  afterAll(async () => {
    await writing?.close();
    await asking?.close();
    await storage?.remove();
  });

  test(
    'decisions on another instance match what administrators wrote, at every revision',
    async () => {
      const random = seeded(Number(process.env.USHER_SEED ?? 20_262));
      const start = parseRevision(writing.app.engine.revision);
      await asking.app.engine.reach(start);
      const history = new History(start.number, BASIS.reduce(applyTo, NO_ROWS));
      const pending: Reply[] = [];
      const tally = { writes: 0, kinds: new Set<string>(), answers: 0, granted: 0, wrong: [] as string[] };
      const end = performance.now() + MOST_MS;
      const writes = seeded(Number(process.env.USHER_SEED ?? 20_263));
      const firsts = FIRSTS.values();
      let done = false;

      const write = async () => {
        while (!done) {
          const operation = firsts.next().value ?? randomWrite(writes, history.newest);
          const { status, headers, body } = await carryOut(operation);
          // Nothing to remove, or nobody known by that address: nothing was done.
          if (status === 404) continue;
          if (status >= 300) throw new Error(`${JSON.stringify(operation)}: ${status} ${JSON.stringify(body)}`);
          const revision = numberOf(headers.get('usher-revision'));
          if (revision > history.head) {
            history.record(revision, operation);
            tally.writes++;
            tally.kinds.add(operation.kind);
          } else {
            // It changed nothing: then the rows are what they were.
            expect(JSON.stringify(comparable(applyTo(history.newest, operation)))).toBe(
              JSON.stringify(comparable(history.newest)),
            );
          }
          if (tally.writes >= MOST_WRITES || performance.now() > end) done = true;
        }
      };
      const ask = async () => {
        const rest = await Rest.as(asking);
        while (!done) {
          const subject = {
            email: pick(random, NAMES.emails),
            app: pick(random, NAMES.apps),
            ...(random(3) === 0 ? { resourceType: '', resourceId: '' } : pick(random, NAMES.resources)),
          };
          const { email, app } = subject;
          const body = subject.resourceType === '' ? { email, app } : subject;
          const least = random(3) === 0 ? history.head : 0;
          const reply = await rest.send(
            'POST',
            '/api/check/effective',
            body,
            least > 0 ? { 'usher-min-revision': `${least}` } : {},
          );
          const revision = numberOf(reply.headers.get('usher-revision'));
          if (reply.status !== 200 || revision < least)
            tally.wrong.push(`${reply.status} at ${revision}, asked for ${least}`);
          pending.push({ subject, revision, items: reply.body.data });
          settle();
        }
      };
      const settle = () => {
        for (const reply of pending.splice(0)) {
          if (reply.revision > history.head) {
            pending.push(reply);
            continue;
          }
          const right = effectiveOf(history.at(reply.revision), reply.subject);
          tally.answers++;
          tally.granted += right.some(({ granted }) => granted) ? 1 : 0;
          if (asText(right) === asText(reply.items)) continue;
          tally.wrong.push(
            `at ${reply.revision} ${JSON.stringify(reply.subject)}: ${asText(reply.items)}, right is ${asText(right)}`,
          );
          done = true;
        }
      };
      try {
        await Promise.all([write(), ...Array.from({ length: ASKERS }, ask)]);
      } finally {
        done = true;
      }
      settle();
      expect(tally.wrong).toEqual([]);
      expect(pending).toEqual([]);
      expect([...tally.kinds].sort()).toEqual([...new Set(FIRSTS.map(({ kind }) => kind))].sort());
      expect(tally.writes).toBeGreaterThan(FIRSTS.length);
      expect(tally.answers).toBeGreaterThan(50);
      // Neither a world that denies everything nor one that grants everything would prove anything.
      expect(tally.granted / tally.answers).toBeGreaterThan(0.1);
      expect(tally.granted / tally.answers).toBeLessThan(0.95);
    },
    LONG ? 1_800_000 : 120_000,
  );

  interface Reply {
    subject: { email: string; app: string; resourceType: string; resourceId: string };
    revision: number;
    items: readonly object[];
  }

  async function roleIds(app: string, codes: readonly string[]): Promise<number[]> {
    const { body } = await root.get(`/api/applications/${app}/roles`);
    return codes.map((code) => body.data.find((role: { code: string }) => role.code === code).id);
  }

  async function carryOut(operation: Operation): Promise<RestAnswer> {
    switch (operation.kind) {
      case 'user':
        return await root.put(`/api/users/${operation.email}/active`, { active: operation.active });
      case 'superadmin':
        return operation.is
          ? await root.post('/api/users/admins/super', { email: operation.email })
          : await root.delete(`/api/users/admins/super/${operation.email}`);
      case 'app-admin': {
        const path = `/api/users/admins/apps/${operation.app}`;
        return operation.is
          ? await root.post(path, { email: operation.email })
          : await root.delete(`${path}/${operation.email}`);
      }
      case 'roles-of-user':
        return await root.put(`/api/users/${operation.email}/apps/${operation.app}/roles`, {
          roleIds: await roleIds(operation.app, operation.roles),
        });
      case 'overrides-of-user': {
        const { app, email, resourceType, resourceId, overrides } = operation;
        const path = `/api/users/${email}/apps/${app}/resources/${resourceType}/${encodeURIComponent(resourceId)}/permissions`;
        const permissions = overrides.map(({ permission, granted, accessLevel }) => {
          return { permissionId: permissionIds.get(`${app} ${permission}`), granted, accessLevel };
        });
        return await root.put(path, { permissions });
      }
      case 'permissions-of-role': {
        const { app, role, permissions } = operation;
        const [id] = await roleIds(app, [role]);
        return await root.put(`/api/applications/${app}/roles/${id}/permissions`, {
          permissions: permissions.map(({ permission, accessLevel }) => {
            return { permissionId: permissionIds.get(`${app} ${permission}`), accessLevel };
          }),
        });
      }
      case 'define-role':
        return await root.post(`/api/applications/${operation.app}/roles`, { code: operation.role });
      case 'delete-role': {
        const [id] = await roleIds(operation.app, [operation.role]);
        return await root.delete(`/api/applications/${operation.app}/roles/${id}`);
      }
      default:
        throw new Error(`no route here for ${operation.kind}`);
    }
  }
});

function randomWrite(random: Random, rows: Rows): Operation {
  const [email, app] = [pick(random, NAMES.emails), pick(random, NAMES.apps)];
  const roles = rows.roles.filter((row) => row.app === app).map(({ role }) => role);
  const permissions = rows.permissions.filter((row) => row.app === app);
  const level = (type: 'binary' | 'tiered'): AccessLevel =>
    type === 'binary' ? 'allowed' : pick(random, ['view', 'edit'] as const);
  switch (random(9)) {
    case 0:
      return { kind: 'user', email, active: random(3) > 0 };
    case 1:
      // Not for long: a person who is allowed everything exercises none of the other rules.
      return { kind: 'superadmin', email, is: !rows.superadmins.some((row) => row.email === email) };
    case 2:
      return {
        kind: 'app-admin',
        app,
        email,
        is: !rows.appAdmins.some((row) => row.app === app && row.email === email),
      };
    case 3: {
      const role = pick(random, NAMES.roles);
      return { kind: roles.includes(role) ? 'delete-role' : 'define-role', app, role };
    }
    case 4:
    case 5: {
      const overrides = some(
        random,
        permissions.filter(({ global }) => !global),
      ).map(({ permission, type }) => {
        const granted = random(2) === 0;
        return { permission, granted, accessLevel: granted ? level(type) : null };
      });
      return { kind: 'overrides-of-user', app, email, ...pick(random, NAMES.resources), overrides };
    }
    case 6: {
      if (roles.length === 0) return { kind: 'define-role', app, role: pick(random, NAMES.roles) };
      const held = some(random, permissions).map(({ permission, type }) => ({ permission, accessLevel: level(type) }));
      return { kind: 'permissions-of-role', app, role: pick(random, roles), permissions: held };
    }
    default:
      return { kind: 'roles-of-user', app, email, roles: some(random, roles) };
  }
}

/** What decides, in one order; a record that says `active` says no more than none. */
function comparable(rows: Rows): unknown {
  const inOrder = (list: readonly object[]) => list.map((row) => asText([row])).sort();
  return [
    inOrder(rows.users.filter(({ active }) => !active)),
    inOrder(rows.roles.map(({ app, role }) => ({ app, role }))),
    ...[rows.superadmins, rows.permissions, rows.rolePermissions, rows.appAdmins].map(inOrder),
    ...[rows.assignments, rows.overrides].map(inOrder),
  ];
}

function asText(items: readonly object[]): string {
  return JSON.stringify(items.map((item) => Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))));
}
