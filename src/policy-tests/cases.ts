/** Cases of policy tests (docs/reference/command-line.md#policy-tests) as a file or a manifest lists them. Pure: the panel reads them too. */

import type { Faults, Plain } from '../catalog/manifest/faults.ts';
import type { Manifest } from '../catalog/manifest/format.ts';
import { fits } from '../catalog/manifest/read.ts';
import { PolicyTest } from '../catalog/manifest/schema.ts';

export type { PolicyTest } from '../catalog/manifest/schema.ts';

/** A file whose cases can be run. */
export interface TestFile {
  readonly name: string;
  readonly manifest: Manifest;
  readonly cases: readonly PolicyTest[];
}

/** The valid cases of a list; the rest are faults. */
export function readCases(items: Plain | undefined, faults: Faults): PolicyTest[] {
  if (!Array.isArray(items)) {
    faults.add(items === undefined ? [] : ['tests'], 'tests must be a list of cases');
    return [];
  }
  return items.flatMap((item: Plain, at) => {
    const read = fits(PolicyTest, item, ['tests', at], faults);
    return 'record' in read ? [read.record] : [];
  });
}
