/** The demonstration's manifest, as the repository has it. */

import text from '../../../../../examples/demo.yaml?raw';

export const DEMO: string = text;
