import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isSameSecret } from '../../src/base/constant-time.ts';

test('two secrets are equal only when their texts are equal', () => {
  const near = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\0'), maxLength: 3 });
  fc.assert(
    fc.property(fc.oneof(near, fc.string()), fc.oneof(near, fc.string()), (one, other) => {
      expect(isSameSecret(one, other)).toBe(one === other);
      expect(isSameSecret(one, one)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});
