// `node .ci/count.mjs REPORT…` prints `N passed, N failed, N skipped` of reports of jest. Where REPORT.again exists, a file that it
// holds counts by it.
import { existsSync, readFileSync } from 'node:fs';

const counts = { passed: 0, failed: 0, skipped: 0 };
for (const report of process.argv.slice(2).filter(existsSync)) {
  const files = new Map();
  for (const part of [report, `${report}.again`].filter(existsSync)) {
    for (const result of JSON.parse(readFileSync(part, 'utf8')).testResults) files.set(result.name, result);
  }
  for (const { status, assertionResults } of files.values()) {
    for (const { status: one } of assertionResults) counts[one === 'passed' || one === 'failed' ? one : 'skipped']++;
    // A file that could not be read, or ended before its tests.
    if (status === 'failed' && assertionResults.every((test) => test.status === 'passed')) counts.failed++;
  }
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
