/** 100,000 grants end at once while Check is asked about others: what those who ask notice until the last row is gone. */
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { TIMEKEEPER_LOCK } from '../../src/persistence/timekeeper/turn.ts';
import { checkBeside, type Noticed } from '../beside.ts';
import type { Lab } from '../lab.ts';
import { type Row, rowsOf } from '../report.ts';
import { addDoomed } from './application-delete.ts';

const SLICE_MS = 5000;
const POLL_MS = 250;

async function once(lab: Lab, grants: number): Promise<Noticed> {
  const url = await lab.copyOf(await lab.data());
  await lab.postgresGivesWay();
  await addDoomed(url, grants);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // The timekeeper begins when the slice does: as if all of them ended then.
    await client.query('select pg_advisory_lock($1)', [TIMEKEEPER_LOCK]);
    await client.query(`update resource_override set ends_at = now() where resource_type = 'document'
      and application_id = (select id from application where code = 'doomed')`);
    await client.query('vacuum analyze resource_override');
    const gone = async () => {
      await client.query('select pg_advisory_unlock($1)', [TIMEKEEPER_LOCK]);
      for (;;) {
        const { rows } = await client.query('select from resource_override where ends_at <= now() limit 1');
        if (rows.length === 0) return;
        await setTimeout(POLL_MS);
      }
    };
    return await checkBeside(url, gone, { sliceMs: SLICE_MS });
  } finally {
    await client.end();
  }
}

export async function ends(lab: Lab): Promise<Row[]> {
  const grants = lab.settings.users;
  const runs: Noticed[] = [];
  for (let run = 1; run <= lab.settings.runs; run++) {
    const noticed = await once(lab, grants);
    runs.push(noticed);
    lab.say(
      `ends ${run}/${lab.settings.runs}: ${Math.round(noticed.workMs)} ms, Check p99 ${noticed.normal.toFixed(2)} and ${noticed.during.toFixed(2)} ms`,
    );
  }
  return rowsOf('ends', runs, [
    [`until ${grants} grants that ended at once are gone`, 's', ({ workMs }) => workMs / 1000, { atMost: 120 }],
    ['p99 of Check, normal', 'ms', ({ normal }) => normal],
    ['p99 of Check meanwhile', 'ms', ({ during }) => during],
    ['the same in terms of the normal one', '', ({ during, normal }) => during / normal, { atMost: 2 }],
    ['p99 of Check while PostgreSQL works for something else', 'ms', ({ busy }) => busy],
    ['longest Check meanwhile', 'ms', ({ worst }) => worst],
  ]);
}
