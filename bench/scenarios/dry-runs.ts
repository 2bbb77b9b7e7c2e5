/** Dry runs: of a role's permissions with 100,000 holders, and of a manifest of 20,000 rows beside its apply. */
import pg from 'pg';
import { checkBeside, type Noticed } from '../beside.ts';
import { makeManifestDataset } from '../dataset.ts';
import type { Lab } from '../lab.ts';
import { manifestYaml } from '../manifest-file.ts';
import { median, type Row, rowsOf } from '../report.ts';
import { Service } from '../service.ts';

const HOLDERS = 100_000;
const DRY_RUNS = 5;

const APP = {
  application: { code: 'crowd', name: 'Crowd' },
  permissions: [
    { code: 'page.read', type: 'tiered' },
    { code: 'page.print', type: 'binary' },
  ],
  roles: [
    { code: 'everybody', permissions: { 'page.read': 'view' } },
    { code: 'half', permissions: { 'page.read': 'edit' } },
  ],
};

interface Impact {
  people: number;
  gained: number;
  lost: number;
}

interface Measured {
  roleMs: number;
  manifestMs: number;
  applyMs: number;
}

/** Gives `everybody` to 100,000 people, and `half` to every second of them. */
async function fill(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(
      `insert into person (email) select 'crowd' || i || '@example.com' from generate_series(1, $1::int) i`,
      [HOLDERS],
    );
    await client.query(`insert into user_role (application_id, person_id, role_id)
      select a.id, p.id, r.id from application a join role r on r.application_id = a.id
        join (select id, row_number() over (order by id) as n from person where email like 'crowd%') p
          on r.code = 'everybody' or p.n % 2 = 0
       where a.code = 'crowd'`);
    await client.query(`insert into policy_change (revision, nonce, scopes)
      select max(revision) + 1, 'bench', array['*'] from policy_change`);
    await client.query('vacuum analyze user_role, person');
  } finally {
    await client.end();
  }
}

interface Answered<T> {
  ms: number;
  data: T;
}

/** Throws for anything but success. */
async function send<T>(
  service: Service,
  token: string,
  { method, path, body, type = 'application/json' }: { method: string; path: string; body?: string; type?: string },
): Promise<Answered<T>> {
  const startedAt = performance.now();
  const response = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  const ms = performance.now() - startedAt;
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
  return { ms, data: (JSON.parse(text) as { data: T }).data };
}

/** Makes the application with its people, behind the service's back; the service has its own way to notice. */
async function gather(service: Service, token: string, url: string): Promise<void> {
  await send(service, token, { method: 'POST', path: '/api/manifests/apply', body: JSON.stringify(APP) });
  await fill(url);
}

/** Rehearses what the role gives; milliseconds. */
async function rehearse(service: Service, token: string): Promise<number> {
  const roles = await send<{ id: number; code: string }[]>(service, token, {
    method: 'GET',
    path: '/api/applications/crowd/roles',
  });
  const id = roles.data.find(({ code }) => code === 'everybody')?.id;
  const { ms, data } = await send<{ impact: Impact }>(service, token, {
    method: 'PUT',
    path: `/api/applications/crowd/roles/${id}/permissions?dryRun=true`,
    body: JSON.stringify({ permissions: [{ permission: 'page.print', accessLevel: 'allowed' }] }),
  });
  const { people, gained, lost } = data.impact;
  // Everybody may print then; those who only had this role read no more.
  if (people !== HOLDERS || gained !== HOLDERS || lost !== HOLDERS / 2) {
    throw new Error(`the dry run found ${people} people, ${gained} gained and ${lost} lost`);
  }
  return ms;
}

async function once(lab: Lab, yaml: string): Promise<Measured> {
  const url = await lab.emptyDatabase();
  // Not pinned, as in life.
  const service = await Service.start({ databaseUrl: url, core: null });
  try {
    const token = await service.adminToken();
    const manifest = { method: 'POST', path: '/api/manifests/apply', body: yaml, type: 'application/yaml' };
    const dry = await send(service, token, { ...manifest, path: `${manifest.path}?dryRun=true` });
    const applied = await send(service, token, manifest);
    await gather(service, token, url);
    const times: number[] = [];
    for (let turn = 0; turn < DRY_RUNS; turn++) times.push(await rehearse(service, token));
    return { roleMs: median(times), manifestMs: dry.ms, applyMs: applied.ms };
  } finally {
    await service.stop();
  }
}

async function beside(lab: Lab): Promise<Noticed> {
  const url = await lab.copyOf(await lab.data());
  await lab.postgresGivesWay();
  const service = await Service.start({ databaseUrl: url, core: null });
  await gather(service, await service.adminToken(), url).finally(() => service.stop());
  return checkBeside(url, async (asked, token) => {
    await rehearse(asked, token);
  });
}

/** What those who ask Check notice of it. */
export async function besideDryRuns(lab: Lab): Promise<Row[]> {
  const runs: Noticed[] = [];
  for (let run = 1; run <= lab.settings.runs; run++) {
    const noticed = await beside(lab);
    runs.push(noticed);
    lab.say(
      `beside-dry-runs ${run}/${lab.settings.runs}: ${Math.round(noticed.workMs)} ms, Check p99 ${noticed.normal.toFixed(2)} and ${noticed.during.toFixed(2)} ms`,
    );
  }
  return rowsOf('beside-dry-runs', runs, [
    ['a dry run, with its list of roles', 'ms', ({ workMs }) => workMs],
    ['p99 of Check, normal', 'ms', ({ normal }) => normal],
    ['p99 of Check meanwhile', 'ms', ({ during }) => during],
    ['the same in terms of the normal one', '', ({ during, normal }) => during / normal, { atMost: 2 }],
    ['p99 of Check while PostgreSQL works for something else', 'ms', ({ busy }) => busy],
    ['longest Check meanwhile', 'ms', ({ worst }) => worst],
  ]);
}

export async function dryRuns(lab: Lab): Promise<Row[]> {
  const yaml = manifestYaml(makeManifestDataset());
  const measured: Measured[] = [];
  for (let run = 1; run <= lab.settings.runs; run++) {
    const one = await once(lab, yaml);
    measured.push(one);
    lab.say(
      `dry-runs ${run}/${lab.settings.runs}: role ${Math.round(one.roleMs)} ms, manifest ${Math.round(one.manifestMs)} ms, ` +
        `its apply ${Math.round(one.applyMs)} ms`,
    );
  }
  return rowsOf('dry-runs', measured, [
    [`what a role with ${HOLDERS} holders gives`, 's', ({ roleMs }) => roleMs / 1000, { atMost: 2 }],
    ['a manifest of 20,000 rows', 's', ({ manifestMs }) => manifestMs / 1000],
    ['its dry run in terms of its apply', '×', ({ manifestMs, applyMs }) => manifestMs / applyMs, { atMost: 2 }],
  ]);
}
