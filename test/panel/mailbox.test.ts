import { expect, test } from '@jest/globals';
import { webAddress } from '../../panel/src/parts/mail-link.ts';

test.each([
  ['https://example.com/a?b=c#d', 'https://example.com/a?b=c#d'],
  [
    'http://localhost:8080/api/notifications/unsubscribe?token=1',
    'http://localhost:8080/api/notifications/unsubscribe?token=1',
  ],
  ['HTTPS://EXAMPLE.com', 'https://example.com/'],
  ['javascript:alert(1)', null],
  [' java\nscript:alert(1)', null],
  ['data:text/html,<p>', null],
  ['mailto:ann@example.com', null],
  ['/panel/settings', null],
  ['//example.com', null],
  ['#top', null],
  ['', null],
])('a link of a mail to %j opens %j', (link, opened) => {
  expect(webAddress(link)).toBe(opened);
});
