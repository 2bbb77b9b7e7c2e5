/** `node bench/run.ts SCENARIO… [--quick] [--json]`: see README.md. */
import { parseArgs } from 'node:util';
import { Lab, NORMAL, QUICK, type Scenario, type Settings } from './lab.ts';
import { pinSelf, runToEnd } from './processes.ts';
import { machine, type Report, type Row, table } from './report.ts';
import { administration } from './scenarios/administration.ts';
import { applicationDelete } from './scenarios/application-delete.ts';
import { backlog } from './scenarios/backlog.ts';
import { checkAllWarm, checkHot, rest, single } from './scenarios/checks.ts';
import { checkCold } from './scenarios/cold.ts';
import { delivery } from './scenarios/delivery.ts';
import { besideDryRuns, dryRuns } from './scenarios/dry-runs.ts';
import { edge } from './scenarios/edge.ts';
import { ends } from './scenarios/ends.ts';
import { besideExports } from './scenarios/exports.ts';
import { followers } from './scenarios/followers.ts';
import { inbox } from './scenarios/inbox.ts';
import { isolation } from './scenarios/isolation.ts';
import { kept } from './scenarios/kept.ts';
import { ladder } from './scenarios/ladder.ts';
import { lists } from './scenarios/lists.ts';
import { manifest } from './scenarios/manifest.ts';
import { panel } from './scenarios/panel.ts';
import { policyWrites } from './scenarios/policy-writes.ts';
import { profile } from './scenarios/profile.ts';
import { propagation } from './scenarios/propagation.ts';
import { revokes } from './scenarios/revokes.ts';
import { scale } from './scenarios/scale.ts';
import { send } from './scenarios/send.ts';
import { start } from './scenarios/start.ts';
import { streams } from './scenarios/streams.ts';
import { traces } from './scenarios/traces.ts';
import { batch, bulk, effective, explain } from './scenarios/wide.ts';
import { writes } from './scenarios/writes.ts';

const SCENARIOS = new Map<string, Scenario>([
  ['check-hot', checkHot],
  ['ladder', ladder],
  ['check-all-warm', checkAllWarm],
  ['check-cold', checkCold],
  ['bulk', bulk],
  ['batch', batch],
  ['explain', explain],
  ['effective', effective],
  ['rest', rest],
  ['single', single],
  ['start', start],
  ['lists', lists],
  ['manifest', manifest],
  ['dry-runs', dryRuns],
  ['propagation', propagation],
  ['edge', edge],
  ['ends', ends],
  ['kept', kept],
  ['traces', traces],
  ['revokes', revokes],
  ['followers', followers],
  ['send', send],
  ['delivery', delivery],
  ['backlog', backlog],
  ['inbox', inbox],
  ['streams', streams],
  ['administration', administration],
  ['policy-writes', policyWrites],
  ['writes', writes],
  ['profile', profile],
  ['panel', panel],
  ['scale', scale],
  // In these PostgreSQL gives way, and in all that come after them.
  ['application-delete', applicationDelete],
  ['beside-dry-runs', besideDryRuns],
  ['beside-exports', besideExports],
  ['isolation', isolation],
]);

const USAGE = `node bench/run.ts SCENARIO… [options]
Scenarios: ${[...SCENARIOS.keys()].join(', ')}; all
  --quick            one short run of each: a look, not a measurement
  --runs N           fresh processes of each kind (default ${NORMAL.runs})
  --slice-ms N       length of one measured slice (default ${NORMAL.sliceMs})
  --in-flight N      questions in flight (default ${NORMAL.inFlight})
  --connections N    over so many connections (default ${NORMAL.connections})
  --trials N         of propagation, in each mode, and of revokes (default ${NORMAL.trials})
  --users N          of administration's registry (default ${NORMAL.users})
  --followers N      of followers (default ${NORMAL.followers})
  --svg FILE         where ladder writes its plot
  --json             the results as JSON instead of the table
Exit code: 0 when every goal is met, 1 when one is missed, 2 on wrong answers or trouble.`;

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      runs: { type: 'string' },
      'slice-ms': { type: 'string' },
      'in-flight': { type: 'string' },
      connections: { type: 'string' },
      trials: { type: 'string' },
      users: { type: 'string' },
      followers: { type: 'string' },
      svg: { type: 'string' },
    },
  });
  const base: Settings = values.quick ? QUICK : NORMAL;
  const number = (text: string | undefined, fallback: number): number => {
    const given = text === undefined ? fallback : Number(text);
    if (!Number.isInteger(given)) throw new Error(`${text} is no whole number\n${USAGE}`);
    return given;
  };
  const settings: Settings = {
    ...base,
    runs: number(values.runs, base.runs),
    sliceMs: number(values['slice-ms'], base.sliceMs),
    inFlight: number(values['in-flight'], base.inFlight),
    connections: number(values.connections, base.connections),
    trials: number(values.trials, base.trials),
    users: number(values.users, base.users),
    followers: number(values.followers, base.followers),
    ...(values.svg === undefined ? {} : { svg: values.svg }),
  };
  const names = positionals.includes('all') ? [...SCENARIOS.keys()] : positionals;
  const unknown = names.filter((name) => !SCENARIOS.has(name));
  if (unknown.length > 0) throw new Error(`no scenario ${unknown.join(', ')}\n${USAGE}`);
  return { names, settings, json: values.json, help: values.help };
}

async function main(): Promise<number> {
  const { names, settings, json, help } = readArguments();
  if (help || names.length === 0) {
    console.log(USAGE);
    return help ? 0 : 2;
  }
  pinSelf();
  const lab = new Lab(settings);
  const rows: Row[] = [];
  try {
    for (const name of names) {
      lab.say(`${name} begins`);
      rows.push(...(await (SCENARIOS.get(name) as Scenario)(lab)));
    }
  } finally {
    await lab.close();
  }
  const report: Report = { machine: machine(), settings: { ...settings }, rows };
  if (json) {
    console.log(JSON.stringify(report, null, 2));
  } else {
    console.log(
      `\n${Object.entries(report.machine)
        .map((entry) => entry.join(' '))
        .join(', ')}\n`,
    );
    console.log(table(rows));
  }
  return rows.some((r) => r.pass === false) ? 1 : 0;
}

runToEnd(main);
