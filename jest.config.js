export default {
  testEnvironment: 'node',
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
  coverageProvider: 'v8',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  testSequencer: '<rootDir>/test/support/sequencer.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  maxWorkers: 2,
  // Modules and embedded databases of files that have ended are not all given back; a big process also takes long to end.
  workerIdleMemoryLimit: '1GB',
  // For tests that hang, not for slow machines, nor for the counts of a long run.
  testTimeout: process.env.USHER_LONG === undefined ? 120_000 : 1_800_000,
};
