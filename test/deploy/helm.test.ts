import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { generated } from '../../deploy/helm/write.ts';

/** What needs no Helm; deploy/test/helm.ts has the rest, which .ci/run runs. */

test.each([...generated()])('%s is what `npm run generate` writes', (path, content) => {
  expect(readFileSync(path, 'utf8')).toBe(content);
  expect(content).toContain('DATABASE_URL');
});
