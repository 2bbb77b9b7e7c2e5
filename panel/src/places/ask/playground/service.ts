/**
 * The service's own reader of manifests, its evaluator and its policy tests, for the browser. `test/architecture.test.ts` lists
 * what the panel may import of the service, and holds it to modules that need no Node.js.
 */

export { UsherError } from '../../../../../src/base/errors.ts';
export { LEVEL_NAMES, LEVELS, type LevelName, RULE_NAMES, SOURCE_NAMES } from '../../../../../src/base/level-names.ts';
export { nearest } from '../../../../../src/base/nearest.ts';
export { examine } from '../../../../../src/catalog/manifest/examine.ts';
export { Faults, isMap } from '../../../../../src/catalog/manifest/faults.ts';
export { type Manifest, present } from '../../../../../src/catalog/manifest/format.ts';
export { type ManifestIssue, placed } from '../../../../../src/catalog/manifest/places.ts';
export { readSource } from '../../../../../src/catalog/manifest/source.ts';
export { checkStandalone } from '../../../../../src/catalog/manifest/standalone.ts';
export type { Explanation } from '../../../../../src/engine/explanation.ts';
export { isAllowed } from '../../../../../src/engine/question.ts';
export { type PolicyTest, readCases } from '../../../../../src/policy-tests/cases.ts';
export { coverageOf, type Outcome, runTests } from '../../../../../src/policy-tests/run.ts';
export { World } from '../../../../../src/policy-tests/world.ts';
