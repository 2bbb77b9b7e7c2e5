// `node .ci/again.mjs REPORT` prints the test files that failed in a report of jest and may be run once more, one a line, for files
// in which a busy machine can be the reason. Exits with 1 where none failed, or where one did that must never fail: those compare
// answers with an oracle, or look for what an attacker or another caller must not see.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const EXACT =
  /^test\/(?:doors|engine|matrix|oracle|property|rpc|wire|grpc\/front|attacks\/(?:wire|secrets))(?:\/|\.test\.ts$)/;

const [report] = process.argv.slice(2);
const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
const failed = testResults.filter(({ status }) => status === 'failed').map(({ name }) => relative('.', name));
const exact = failed.filter((file) => EXACT.test(file));
if (exact.length > 0) console.error(`not run again: ${exact.join(' ')}`);
else for (const file of failed) console.log(file);
process.exitCode = failed.length === 0 || exact.length > 0 ? 1 : 0;
