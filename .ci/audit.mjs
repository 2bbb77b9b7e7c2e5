// Fails where an installed version has an open advisory. A registry that does not answer fails nothing: some mirrors have no
// advisories, and a network that is down says nothing about a change. Usage: npm run audit
import { spawnSync } from 'node:child_process';

for (const folder of ['.', '.ci/tools']) {
  const { stdout } = spawnSync(process.execPath, [process.env.npm_execpath, 'audit', '--json', '--prefix', folder], {
    encoding: 'utf8',
  });
  const found = readReport(stdout);
  if (found === null) console.log(`npm audit of ${folder}: not checked, the registry gave no answer about advisories`);
  else {
    for (const { name, severity, range } of found) console.error(`${name} ${range}: ${severity}`);
    console.log(`npm audit of ${folder}: ${found.length} packages with an open advisory`);
    if (found.length > 0) process.exitCode = 1;
  }
}

/** The packages with advisories; null where the answer is no report. */
function readReport(text) {
  try {
    const { auditReportVersion, vulnerabilities } = JSON.parse(text);
    return auditReportVersion === undefined ? null : Object.values(vulnerabilities);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
