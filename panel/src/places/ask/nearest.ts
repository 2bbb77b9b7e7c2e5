/** The service's own idea of a misspelling. */

export { nearest } from '../../../../src/base/nearest.ts';
