/** Dry runs: of a role's permissions with 100,000 holders, and of a manifest of 20,000 rows beside its apply. */
import pg from 'pg';
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

async function once(lab: Lab, yaml: string): Promise<Measured> {
  const url = await lab.emptyDatabase();
  // Not pinned, as in life.
  const service = await Service.start({ databaseUrl: url, core: null });
  try {
    const token = await service.adminToken();
    const send = async <T>(method: string, path: string, body?: string, type = 'application/json') => {
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
    };
    const manifest = '/api/manifests/apply';
    const dry = await send<{ impact: Impact }>('POST', `${manifest}?dryRun=true`, yaml, 'application/yaml');
    const applied = await send('POST', manifest, yaml, 'application/yaml');

    await send('POST', manifest, JSON.stringify(APP));
    await fill(url);
    const roles = await send<{ id: number; code: string }[]>('GET', '/api/applications/crowd/roles');
    const id = roles.data.find(({ code }) => code === 'everybody')?.id;
    const path = `/api/applications/crowd/roles/${id}/permissions?dryRun=true`;
    const wanted = JSON.stringify({ permissions: [{ permission: 'page.print', accessLevel: 'allowed' }] });
    const times: number[] = [];
    for (let turn = 0; turn < DRY_RUNS; turn++) {
      const { ms, data } = await send<{ impact: Impact }>('PUT', path, wanted);
      const { people, gained, lost } = data.impact;
      // Everybody may print then; those who only had this role read no more.
      if (people !== HOLDERS || gained !== HOLDERS || lost !== HOLDERS / 2) {
        throw new Error(`the dry run found ${people} people, ${gained} gained and ${lost} lost`);
      }
      times.push(ms);
    }
    return { roleMs: median(times), manifestMs: dry.ms, applyMs: applied.ms };
  } finally {
    await service.stop();
  }
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
