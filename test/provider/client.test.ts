import { expect, test } from '@jest/globals';
import { withoutLocalParts } from '../../src/provider/client.ts';

test.each([
  ['User eve+x@example.com (QUERY-1)', 'User ***@example.com (QUERY-1)'],
  ['eve@example.com,bob@example.com', '***@example.com,***@example.com'],
  [`${'x'.repeat(100)}@a`, '***@a'],
  ['no address', 'no address'],
  [' @ and @', ' @ and @'],
  ['', ''],
])("the provider's words %p are logged as %p", (words, logged) => {
  expect(withoutLocalParts(words)).toBe(logged);
});
