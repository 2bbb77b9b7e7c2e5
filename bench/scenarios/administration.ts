/** What each administrative list page and each write costs the database, with 100,000 users behind it. */

import type { Lab } from '../lab.ts';
import { appCode, BASE, email, firstPermission, firstRole, loadLargeRegistry, sizeOf } from '../large-registry.ts';
import { median, type Row, row } from '../report.ts';
import { type Answer, type Call, sendRight } from '../rest-calls.ts';
import { Service } from '../service.ts';
import { logStatements, StatementLog } from '../statement-log.ts';

const GOAL = { atMost: 10 };
/** Calls before the measured ones: the pool's sessions read the catalog once each. */
const WARM = 12;

/** One kind of call; `call` makes the one of a round, with what the round before was answered. */
interface Measure {
  name: string;
  call: (round: number, last: Answer | null) => Call;
  /** How many items a page must have, at least: an empty page is quickly read. */
  items?: number;
}

const get = (name: string, path: string | ((round: number) => string), items = 1): Measure => ({
  name: `GET ${name}`,
  call: (round) => ({ method: 'GET', path: typeof path === 'string' ? path : path(round) }),
  items,
});

const write = (name: string, call: Measure['call']): Measure => ({ name, call });

/** A different user of the second half each round: what was written before is not asked again. */
const someone = (users: number, round: number): string => email(users / 2 + ((round * 37) % (users / 2)) + 1);

function pages(users: number): Measure[] {
  const q = encodeURIComponent;
  const far = email(users - 5);
  const half = appCode(users / 100);
  const deep = Buffer.from(`users:${BASE + users / 2}`).toString('base64url');
  const ago = (share: number): string => q(new Date(Date.now() - users * 5 * share * 60_000).toISOString());
  return [
    get('/users', '/api/users'),
    get('/users?limit=200', '/api/users?limit=200'),
    get('/users?q= of many', '/api/users?q=novak'),
    get('/users?q= of one, the last', `/api/users?q=${q(far)}`),
    get('/users?q= of nobody', '/api/users?q=zzzyx', 0),
    get('/users?q= of one letter', '/api/users?q=a'),
    get('/users?q= a display name', '/api/users?q=Grace%20Hopper'),
    get('/users?q= a display name, deep', `/api/users?q=Grace%20Hopper&cursor=${deep}`),
    get('/users?q= of one in ten', '/api/users?q=oddfellow'),
    get('/users?q= of three in ten, all of them late', '/api/users?q=latecomer', 0),
    get('/users?q= of everybody', '/api/users?q=example.com'),
    get('/users?active=false', '/api/users?active=false'),
    get('/users?active=true', '/api/users?active=true'),
    get('/users?active=false&q= of nobody', '/api/users?active=false&q=zzzyx', 0),
    get('/users?appCode=, small', (round) => `/api/users?appCode=${appCode(round + 3)}`),
    get('/users?appCode=, everybody', '/api/users?appCode=big'),
    get('/users?appCode=, everybody, active=false', '/api/users?appCode=big&active=false'),
    get('/users?appCode=, everybody, q= of nobody', '/api/users?appCode=big&q=zzzyx', 0),
    get('/users?appCode=, everybody, q= of one', `/api/users?appCode=big&q=${q(far)}`),
    get('/users?appCode=, everybody, q= a display name', '/api/users?appCode=big&q=Grace%20Hopper'),
    get('/users?appCode=, everybody, q= of one in ten', '/api/users?appCode=big&q=oddfellow'),
    get('/users?appCode=, everybody, q= of one in ten, deep', `/api/users?appCode=big&q=oddfellow&cursor=${deep}`),
    get('/users?appCode=, everybody, q= of one letter', '/api/users?appCode=big&q=a'),
    get('/users?appCode=, half, q= a display name', `/api/users?appCode=${half}&q=Grace%20Hopper`),
    get('/users?appCode=, half, q= of one in ten, not there', `/api/users?appCode=${half}&q=oddfellow`, 0),
    get('/users?appCode=, half, q= of three in ten, late', `/api/users?appCode=${half}&q=latecomer`, 0),
    get('/users?appCode=, half, q= of nobody', `/api/users?appCode=${half}&q=zzzyx`, 0),
    get('/users?appCode=, small, q= of everybody', (round) => `/api/users?appCode=${appCode(round + 3)}&q=example.com`),
    get(
      '/users?appCode=, small, q= of one in ten',
      (round) => `/api/users?appCode=${appCode(round + 3)}&q=oddfellow`,
      0,
    ),
    get('/users/:email', (round) => `/api/users/${someone(users, round)}`, 0),
    get('role holders, everybody', `/api/applications/big/roles/${firstRole(1)}/users`),
    get('role holders, q= of one', `/api/applications/big/roles/${firstRole(1)}/users?q=${q(far)}`),
    get('role holders, q= a display name', `/api/applications/big/roles/${firstRole(1)}/users?q=Grace%20Hopper`),
    get('role holders, q= of nobody', `/api/applications/big/roles/${firstRole(1)}/users?q=zzzyx`, 0),
    get('roles of a user', (round) => `/api/users/${someone(users, round)}/apps/big/roles`),
    get('overrides of a user', (round) => `/api/users/${someone(users, round)}/apps/big/resources`),
    get('overrides of a user with a hundredth of all', `/api/users/${email(1)}/apps/app2/resources`),
    get('the same, q= of one', `/api/users/${email(1)}/apps/app2/resources?q=r${users / 10 - 1}`),
    get('the same, q= of none', `/api/users/${email(1)}/apps/app2/resources?q=zzzyx`, 0),
    get('audit', '/api/admin/audit'),
    get('audit?appCode=, a tenth of all', '/api/admin/audit?appCode=big'),
    get('audit?actor=', '/api/admin/audit?actor=admin7@example.com'),
    get('audit?actor= of nobody', '/api/admin/audit?actor=nobody@example.com', 0),
    get('audit?subject=', (round) => `/api/admin/audit?subject=${someone(users, round)}`, 0),
    get('audit?action=, rare', '/api/admin/audit?action=role.deleted.refused'),
    get('audit?action=, a third of all', '/api/admin/audit?action=role.created'),
    get('audit?from=', `/api/admin/audit?from=${ago(0.5)}`),
    get('audit?to=, long ago', `/api/admin/audit?to=${ago(0.99)}`),
    get('audit?from=&to=, long ago', `/api/admin/audit?from=${ago(0.99)}&to=${ago(0.98)}`),
    get('audit?to=, before all', '/api/admin/audit?to=2001-01-01T00:00:00Z', 0),
    get('audit?appCode=&actor=', '/api/admin/audit?appCode=big&actor=admin10@example.com'),
    get('audit?appCode=&actor=, never both', '/api/admin/audit?appCode=big&actor=admin7@example.com', 0),
    get('audit?actor=&action=, rare', '/api/admin/audit?actor=admin7@example.com&action=role.deleted.refused'),
    get('audit?appCode=&to=, long ago', `/api/admin/audit?appCode=big&to=${ago(0.99)}`),
    get('audit?action=&from=&to=, long ago', `/api/admin/audit?action=role.created&from=${ago(0.99)}&to=${ago(0.98)}`),
    get('audit of an application', '/api/applications/big/audit', 0),
    get('applications', '/api/applications'),
    get('roles', '/api/applications/big/roles'),
    get('permissions', '/api/applications/big/permissions'),
    get('role permissions', `/api/applications/big/roles/${firstRole(1)}/permissions`, 0),
    get('entities', '/api/applications/big/entities'),
    get('app admins', (round) => `/api/users/admins/apps/${appCode(round + 2)}`, 0),
    get('superadmins', '/api/users/admins/super'),
    get('notification types', '/api/applications/big/notification-types', 0),
    get('send log', '/api/applications/big/notifications'),
    get('send log?status=failed', '/api/applications/big/notifications?status=failed'),
    get('send log?status=queued, none', '/api/applications/big/notifications?status=queued', 0),
    get('send log?type=, rare', '/api/applications/big/notifications?type=rare'),
    get('send log?type=&status=, rare both', '/api/applications/big/notifications?type=rare&status=failed'),
    get('send log?email=', `/api/applications/big/notifications?email=${email(users / 2 + 2)}`, 0),
  ];
}

function id(last: Answer | null): number {
  return last?.body.data.id as number;
}

function writes(users: number): Measure[] {
  const user = (round: number): string => `/api/users/${someone(users, round)}`;
  const role = firstRole(1);
  const permission = firstPermission(1);
  const application = '/api/applications/big';
  const roles = Array.from({ length: 8 }, (_, i) => role + i);
  return [
    write('PUT roles of a user', (round) => ({
      method: 'PUT',
      path: `${user(round)}/apps/big/roles`,
      body: { roleIds: [role, role + 1 + (round % 7)] },
    })),
    write('PUT roles of a user, all', (round) => ({
      method: 'PUT',
      path: `${user(round + 500)}/apps/big/roles`,
      body: { roleIds: roles },
    })),
    write('PUT overrides', (round) => ({
      method: 'PUT',
      path: `${user(round)}/apps/big/resources/document/new${round}/permissions`,
      body: { permissions: [{ permissionId: permission, granted: round % 2 === 0 }] },
    })),
    write('PUT overrides, 20', (round) => ({
      method: 'PUT',
      path: `${user(round)}/apps/big/resources/document/many${round}/permissions`,
      body: { permissions: Array.from({ length: 20 }, (_, i) => ({ permissionId: permission + i, granted: true })) },
    })),
    write('PUT overrides of an unknown address', (round) => ({
      method: 'PUT',
      path: `/api/users/new${round}@example.com/apps/big/resources/document/new/permissions`,
      body: { permissions: [{ permissionId: permission, granted: true }] },
    })),
    write('PUT user active', (round) => ({
      method: 'PUT',
      path: `${user(round)}/active`,
      body: { active: round % 2 === 0 },
    })),
    write('PUT preferences of a user', (round) => ({
      method: 'PUT',
      path: `${user(round)}/apps/big/preferences`,
      body: { showHelp: false },
    })),
    write('POST role', (round) => ({ method: 'POST', path: `${application}/roles`, body: { code: `made${round}` } })),
    write('PUT role', (round) => ({
      method: 'PUT',
      path: `${application}/roles/${role}`,
      body: { description: `${round}` },
    })),
    write('PUT role permissions', (round) => ({
      method: 'PUT',
      path: `${application}/roles/${role}/permissions`,
      body: {
        permissions: [
          { permissionId: permission + 1 - (round % 2), accessLevel: round % 2 === 0 ? 'view' : 'allowed' },
        ],
      },
    })),
    made('role', `${application}/roles`, (round) => ({ code: `gone${round}` })),
    write('POST permission', (round) => ({
      method: 'POST',
      path: `${application}/permissions`,
      body: { code: `made${round}.use`, type: 'binary' },
    })),
    write('PUT permission', (round) => ({
      method: 'PUT',
      path: `${application}/permissions/${permission}`,
      body: { description: `${round}` },
    })),
    made('permission', `${application}/permissions`, (round) => ({ code: `gone${round}.use`, type: 'binary' })),
    made('entity', `${application}/entities`, (round) => ({ code: `gone${round}`, name: 'Gone' })),
    write('PUT application', (round) => ({ method: 'PUT', path: application, body: { name: `Big ${round}` } })),
    write('POST application', (round) => ({
      method: 'POST',
      path: '/api/applications',
      body: { code: `made${round}`, name: 'Made' },
    })),
    write('DELETE application, new', (round) => ({ method: 'DELETE', path: `/api/applications/made${round}` })),
    write('POST app admin', (round) => ({
      method: 'POST',
      path: '/api/users/admins/apps/big',
      body: { email: someone(users, round) },
    })),
    write('DELETE app admin', (round) => ({
      method: 'DELETE',
      path: `/api/users/admins/apps/big/${someone(users, round)}`,
    })),
    write('POST superadmin', (round) => ({
      method: 'POST',
      path: '/api/users/admins/super',
      body: { email: someone(users, round * 2 + 1) },
    })),
    write('DELETE superadmin', (round) => ({
      method: 'DELETE',
      path: `/api/users/admins/super/${someone(users, round * 2 + 1)}`,
    })),
    write('POST language', (round) => ({
      method: 'POST',
      path: '/api/languages',
      body: { code: languageOf(round), name: 'Made', nativeName: 'Made' },
    })),
    write('DELETE language', (round) => ({ method: 'DELETE', path: `/api/languages/${languageOf(round)}` })),
    made('notification type', `${application}/notification-types`, (round) => ({ code: `gone${round}`, name: 'Gone' })),
    write('POST retry of a send', (round) => ({
      method: 'POST',
      // Every 400th failed, and the even ones are of the big application.
      path: `${application}/notifications/${BASE + 400 * (round + 1)}/retry`,
    })),
  ];
}

function languageOf(round: number): string {
  return `x${String.fromCharCode(97 + Math.floor(round / 26))}${String.fromCharCode(97 + (round % 26))}`;
}

/** Makes a record in each even round and deletes it in the next: only the deletion is measured. */
function made(what: string, path: string, body: (round: number) => unknown): Measure {
  return {
    name: `DELETE ${what}`,
    call: (round, last) =>
      round % 2 === 0 ? { method: 'POST', path, body: body(round) } : { method: 'DELETE', path: `${path}/${id(last)}` },
  };
}

function itemsOf(answer: Answer): number {
  const data: unknown = answer.body?.data;
  if (Array.isArray(data)) return data.length;
  const items = (data as { items?: unknown[] } | undefined)?.items;
  return items?.length ?? 0;
}

async function measure(
  lab: Lab,
  service: Service,
  token: string,
  log: StatementLog,
  { name, call, items = 0 }: Measure,
): Promise<Row> {
  const times: number[] = [];
  const cpu: number[] = [];
  const pairs = name.startsWith('DELETE ') && call(0, null).method === 'POST';
  const rounds = (lab.settings.quick ? 6 : 12) * (pairs ? 2 : 1);
  let last: Answer | null = null;
  let slowest = { ms: 0, sql: '' };
  for (let round = 0; round < rounds + 2; round++) {
    const wanted = call(round, last);
    log.skip();
    last = await sendRight(service.url, token, wanted);
    const { ms, cpu: used, slowest: statements } = log.take();
    if (itemsOf(last) < items) throw new Error(`${name}: a page of ${itemsOf(last)} items, not ${items}`);
    // The first rounds are the compiler's and the planner's.
    if (round < 2 || (pairs && wanted.method === 'POST')) continue;
    times.push(ms);
    cpu.push(used);
    if (ms === Math.max(...times)) slowest = statements[0] ?? slowest;
  }
  const result = row('administration', `${name} (CPU ${median(cpu).toFixed(2)})`, 'ms', times, GOAL);
  if (result.pass === false) lab.say(`${name}: ${slowest.ms} ms in ${slowest.sql}`);
  return result;
}

export async function administration(lab: Lab): Promise<Row[]> {
  const size = sizeOf(lab.settings.users);
  const url = await lab.emptyDatabase();
  await (await Service.start({ databaseUrl: url, core: null })).stop();
  lab.say(`loading ${size.users} users, ${size.overrides} overrides, ${size.applications} applications`);
  await loadLargeRegistry(url, size);
  await logStatements(url);
  const service = await Service.start({ databaseUrl: url, core: null });
  try {
    const token = await service.adminToken();
    await Promise.all(
      Array.from({ length: WARM }, (_, i) =>
        sendRight(service.url, token, { method: 'GET', path: `/api/users?limit=${i + 1}` }),
      ),
    );
    const log = new StatementLog(lab.logFile);
    const rows: Row[] = [];
    for (const one of [...pages(size.users), ...writes(size.users)])
      rows.push(await measure(lab, service, token, log, one));
    const worst = rows.reduce((a, b) => (a.value > b.value ? a : b));
    lab.say(
      `administration: ${rows.length} kinds of call, the dearest ${worst.measure} with ${worst.value.toFixed(2)} ms`,
    );
    return rows;
  } finally {
    await service.stop();
  }
}
