/** The service's reader of manifests, ready for a browser. Loaded with the first manifest. */

export { examine } from '../../../../../src/catalog/manifest/examine.ts';
