/** An application with 100,000 overrides is deleted while Check is asked about others: what those who ask notice. */
import pg from 'pg';
import { checkBeside, type Noticed } from '../beside.ts';
import type { Lab } from '../lab.ts';
import { type Row, rowsOf } from '../report.ts';
import { sendRight } from '../rest-calls.ts';

/** An application `doomed` with ten permissions and overrides of the data set's users. */
export async function addDoomed(url: string, overrides: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`insert into application (code, name) values ('doomed', 'Doomed')`);
    await client.query(`insert into permission (application_id, code, tiered)
      select a.id, 'p' || i, false from application a, generate_series(1, 10) i where a.code = 'doomed'`);
    await client.query(
      `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
       select p.person, a.id, 'document', i::text, pe.id, false, 1
       from application a, generate_series(1, $1::int) i
         join (select id as person, row_number() over (order by id) - 1 as n from person) p on p.n = i % (select count(*) from person)
         join permission pe on pe.code = 'p' || (i % 10 + 1)
       where a.code = 'doomed' and pe.application_id = a.id`,
      [overrides],
    );
    await client.query(`insert into policy_change (revision, nonce, scopes)
      select max(revision) + 1, 'bench', array['*'] from policy_change`);
    await client.query('vacuum analyze resource_override');
  } finally {
    await client.end();
  }
}

async function once(lab: Lab, overrides: number): Promise<Noticed> {
  const url = await lab.copyOf(await lab.data());
  await lab.postgresGivesWay();
  await addDoomed(url, overrides);
  return checkBeside(url, async (service, token) => {
    await sendRight(service.url, token, { method: 'DELETE', path: '/api/applications/doomed' });
  });
}

export async function applicationDelete(lab: Lab): Promise<Row[]> {
  const name = 'application-delete';
  const overrides = lab.settings.users;
  const runs: Noticed[] = [];
  for (let run = 1; run <= lab.settings.runs; run++) {
    const noticed = await once(lab, overrides);
    runs.push(noticed);
    lab.say(
      `${name} ${run}/${lab.settings.runs}: ${Math.round(noticed.workMs)} ms, Check p99 ${noticed.normal.toFixed(2)} and ${noticed.during.toFixed(2)} ms`,
    );
  }
  return rowsOf(name, runs, [
    [`deletion with ${overrides} overrides`, 'ms', ({ workMs }) => workMs],
    ['p99 of Check, normal', 'ms', ({ normal }) => normal],
    ['p99 of Check meanwhile', 'ms', ({ during }) => during],
    ['the same in terms of the normal one', '', ({ during, normal }) => during / normal, { atMost: 2 }],
    ['p99 of Check while PostgreSQL works for something else', 'ms', ({ busy }) => busy],
    ['longest Check meanwhile', 'ms', ({ worst }) => worst],
  ]);
}
