/** Sixteen administrators who write at once: how many policy writes a second, and that none is lost and none deadlocks. */
import pg from 'pg';
import type { Lab } from '../lab.ts';
import { appCode, email, firstPermission, firstRole, loadLargeRegistry, ROLES, sizeOf } from '../large-registry.ts';
import { cpuSeconds } from '../processes.ts';
import { percentile, type Row, row } from '../report.ts';
import { send, sendRight } from '../rest-calls.ts';
import { Service } from '../service.ts';

const WRITERS = 16;
/** Small, since it is not what is measured: people and applications enough that writers meet sometimes. */
const USERS = 2000;
const RESOURCE = `/api/users/${email(1)}/apps/app2/resources/document/shared/permissions`;

interface Written {
  seconds: number;
  latencies: number[];
  /** By user and application: the roles of the newest acknowledged write. */
  newest: Map<string, { revision: number; roles: number[] }>;
  revisions: number[];
  /** Refused with 503, and so not written: the machine was too busy. */
  refused: number;
}

/**
 * Every writer replaces roles and overrides of users, now and then of the very user that another writes about. Turns begin with
 * `first`: the same turn again would change nothing.
 */
async function writeAtOnce(service: Service, token: string, ms: number, first: number): Promise<Written> {
  const newest: Written['newest'] = new Map();
  const latencies: number[] = [];
  const revisions: number[] = [];
  let refused = 0;
  const began = performance.now();
  const writer = async (which: number): Promise<void> => {
    for (let turn = first; performance.now() - began < ms; turn++) {
      const user = turn % 8 === 0 ? 7 : 100 + which * 100 + (turn % 97);
      const app = 2 + (turn % 3);
      const wanted = [firstRole(app) + (turn % ROLES), firstRole(app) + ((turn + which + 1) % ROLES)];
      const roles = [...new Set(wanted)].sort((a, b) => a - b);
      const path = `/api/users/${email(user)}/apps/${appCode(app)}/roles`;
      const startedAt = performance.now();
      const {
        status,
        revision,
        body: told,
      } = await send(service.url, token, { method: 'PUT', path, body: { roleIds: roles } });
      if (status === 503) {
        refused++;
        continue;
      }
      if (status !== 200) throw new Error(`PUT ${path} answered ${status}: ${JSON.stringify(told)}`);
      latencies.push(performance.now() - startedAt);
      revisions.push(revision);
      const key = `${email(user)} ${appCode(app)}`;
      // A write that changed nothing answers a revision that it saw: what it says was so then.
      if ((newest.get(key)?.revision ?? -1) <= revision) newest.set(key, { revision, roles });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, which) => writer(which)));
  return { seconds: (performance.now() - began) / 1000, latencies, newest, revisions, refused };
}

/** Users whose roles are not those of the newest acknowledged write. */
async function lost(client: pg.Client, newest: Written['newest']): Promise<number> {
  const { rows } = await client.query<{ key: string; roles: string[] }>(
    `select p.email || ' ' || a.code as key, array_agg(ur.role_id order by ur.role_id) as roles
     from user_role ur join person p on p.id = ur.person_id join application a on a.id = ur.application_id
     where p.email || ' ' || a.code = any($1) group by 1`,
    [[...newest.keys()]],
  );
  const stored = new Map(rows.map(({ key, roles }) => [key, roles.map(Number).join()]));
  return [...newest].filter(([key, { roles }]) => stored.get(key) !== roles.join()).length;
}

/** Each writer adds one permission after the other to the same set, as it read it, by If-Match: answers how many are lacking. */
async function addToOne(service: Service, token: string): Promise<number> {
  const add = async (permissionId: number): Promise<void> => {
    for (;;) {
      const { body, etag } = await sendRight(service.url, token, { method: 'GET', path: RESOURCE });
      const standing = (body.data.permissions as { permissionId: number }[]).map((p) => p.permissionId);
      const permissions = [...standing, permissionId].map((id) => ({ permissionId: id, granted: true }));
      const call = { method: 'PUT', path: RESOURCE, body: { permissions }, ifMatch: etag ?? '' } as const;
      const { status, body: answer } = await send(service.url, token, call);
      if (status === 200) return;
      if (status !== 412) throw new Error(`PUT ${RESOURCE} answered ${status}: ${JSON.stringify(answer)}`);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, i) => add(firstPermission(2) + i)));
  const { body } = await sendRight(service.url, token, { method: 'GET', path: RESOURCE });
  return WRITERS - (body.data.permissions as unknown[]).length;
}

async function deadlocks(client: pg.Client): Promise<number> {
  await client.query('select pg_stat_force_next_flush()');
  const { rows } = await client.query<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  return Number(rows[0]?.deadlocks);
}

export async function policyWrites(lab: Lab): Promise<Row[]> {
  const name = 'policy-writes';
  const url = await lab.emptyDatabase();
  await (await Service.start({ databaseUrl: url, core: null })).stop();
  await loadLargeRegistry(url, sizeOf(USERS));
  const service = await Service.start({ databaseUrl: url, core: null });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const token = await service.adminToken();
    const ms = lab.settings.quick ? 2000 : 5000;
    await writeAtOnce(service, token, ms / 2, 0);
    const before = cpuSeconds(service.pid);
    const { seconds, latencies, newest, revisions, refused } = await writeAtOnce(service, token, ms, 10_001);
    const cpu = cpuSeconds(service.pid) - before;
    const missing = await lost(client, newest);
    const lacking = await addToOne(service, token);
    const stuck = await deadlocks(client);
    lab.say(`policy-writes: ${Math.round(latencies.length / seconds)}/s`);
    return [
      row(name, `writes of ${WRITERS} at once`, '/s', [latencies.length / seconds], { atLeast: 300 }),
      row(name, 'of them distinct revisions', 'of all', [new Set(revisions).size / revisions.length]),
      row(name, 'CPU a write, service', 'µs', [(cpu / latencies.length) * 1e6]),
      row(name, 'p50 of a write', 'ms', [percentile(latencies, 0.5)]),
      row(name, 'p99 of a write', 'ms', [percentile(latencies, 0.99)]),
      row(name, 'refused (503)', '', [refused], { atMost: 0 }),
      row(name, 'deadlocks', '', [stuck], { atMost: 0 }),
      row(name, 'acknowledged writes that are lost', '', [missing], { atMost: 0 }),
      row(name, `of ${WRITERS} additions to one set by If-Match, lost`, '', [lacking], { atMost: 0 }),
    ];
  } finally {
    await client.end();
    await service.stop();
  }
}
