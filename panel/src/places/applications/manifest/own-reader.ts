/** The service's reader of manifests, ready for a browser. Loaded with the first manifest. */

// biome-ignore assist/source/organizeImports: the order of these two is what makes it work
import './without-eval.ts';
export { examine } from '../../../../../src/catalog/manifest/examine.ts';
