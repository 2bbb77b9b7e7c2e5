import { globSync, readFileSync } from 'node:fs';

/**
 * What a run of jest takes. `npm test` is the project `quick` on PostgreSQL, `npm test -- test/cli` the quick suites of a folder. What
 * names slow suites alone, such as `test/faults` or `test/cli/backup`, runs them. The other projects run where --selectProjects names
 * them: see the scripts of package.json.
 */

/**
 * Fuzzers, models, crashes, outages, attacks, differentials, plans with 100,000 rows, starts of whole processes: what compares, breaks
 * or waits for minutes. A test that waits on a clock stands here or waits for an event. A folder or a file below test/.
 */
const SLOW = [
  'attacks',
  'doors',
  'engine/model',
  'faults',
  'property',
  'retention',
  'wire',
  'app/connection-ages',
  'app/delivery-thread',
  'app/grpc-processes',
  'app/listeners',
  'app/notice',
  'app/packages',
  'app/readiness',
  'app/reload-processes',
  'app/start-wait',
  'catalog/manifest/large',
  'catalog/manifest/round-trip',
  'cli/backup',
  'cli/doctor',
  'cli/health',
  'cli/live-backup',
  'cli/service',
  'cli/signals',
  'cli/start',
  'clients/frozen',
  'clients/kept',
  'delivery/auth-first',
  'delivery/crash',
  'delivery/refusals',
  'directory/killed-erasures',
  'edge/faults',
  'gateway/connections',
  'gateway/fuzz',
  'gateway/list-plans',
  'matrix/differential',
  'outbound/proxy',
  'persistence/crash',
  'persistence/data-dir-lock',
  'persistence/early-release',
  'persistence/list-plans',
  'persistence/outage',
  'persistence/plans',
  'persistence/user-list-plans',
  'provider/mail/settings',
  'provider/notification-provider',
  'provider/reconciliation',
  'provider/set-up-repeats',
  'react/permissions',
];

/** Of every project; test/mutants makes its own configuration of these. */
export const common = {
  testEnvironment: 'node',
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
};

const project = (displayName, testMatch, more = {}) => ({
  ...common,
  displayName,
  testMatch: testMatch.map((glob) => `<rootDir>/test/${glob}`),
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  ...more,
});

/** Of paths from the root. */
const SLOW_PATHS = SLOW.map((path) => `test/${path}[/.]`);
const QUICK = globSync('test/**/*.test.ts', { cwd: import.meta.dirname }).filter(
  (file) => !SLOW_PATHS.some((path) => new RegExp(`^${path}`).test(file)),
);

const USUAL = [
  project('quick', ['**/*.test.ts'], { testPathIgnorePatterns: SLOW_PATHS.map((path) => `<rootDir>/${path}`) }),
  project(
    'slow',
    SLOW.flatMap((path) => [`${path}/**/*.test.ts`, `${path}.test.ts`]),
  ),
];

/** The quick suites that are declared for both databases: `npm run test:embedded` runs them once more, on the embedded one. */
const onBoth = () =>
  QUICK.filter((path) =>
    /\bKINDS\b|\bforEachDatabase\(/.test(readFileSync(`${import.meta.dirname}/${path}`, 'utf8')),
  ).map((path) => path.slice('test/'.length));

const apart = () => [
  project('embedded', onBoth()),
  project('browser', ['browser/*.browser.ts'], { setupFilesAfterEnv: ['<rootDir>/test/browser/again.ts'] }),
  project('firefox', ['browser/*.firefox.ts']),
  ...['upgrade', 'scale', 'pooler', 'proxies', 'tools'].map((name) => project(name, [`${name}/*.${name}.ts`])),
  project('prometheus', ['observability/*.prometheus.ts']),
];

const argv = process.argv.slice(2);
const selects = argv.some((word) => word.startsWith('--selectProjects'));
const named = argv.filter((word) => word.startsWith('test/'));
const takesSlow =
  argv.some((word) => /^--(testPathPatterns|runTestsByPath|findRelatedTests)\b/.test(word)) ||
  named.some((pattern) => !QUICK.some((path) => new RegExp(pattern).test(path)));

export default {
  projects: selects ? [...USUAL, ...apart()] : takesSlow ? USUAL : USUAL.slice(0, 1),
  coverageProvider: 'v8',
  reporters: ['default', '<rootDir>/test/support/progress.ts'],
  testSequencer: '<rootDir>/test/support/sequencer.ts',
  maxWorkers: 2,
  // Modules and embedded databases of files that have ended are not all given back; a big process also takes long to end.
  workerIdleMemoryLimit: '1GB',
  // For tests that hang, not for slow machines, nor for the counts of a long run.
  testTimeout: process.env.USHER_LONG === undefined ? 120_000 : 1_800_000,
};
