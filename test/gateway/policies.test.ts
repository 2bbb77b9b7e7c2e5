import { describe, expect, test } from '@jest/globals';
import { unsubscribePage } from '../../src/gateway/pages/unsubscribe.ts';

/** The policy of the page behind a mail's link, for a brand with that logo. */
function policyFor(logoUrl: string): string {
  const look = { name: 'Brand', primaryColor: null, backgroundColor: null, logoUrl, footerText: null };
  const subscription = { appName: 'Shop', typeName: 'News', switchable: true, email: true, locale: null, brand: look };
  return unsubscribePage({ state: 'ask', subscription, languages: undefined, settingsUrl: null, form: null }).policy;
}

describe('the content security policy of a page', () => {
  test('the policy admits a logo by its origin', () => {
    expect(policyFor('https://cdn.example.com:8443/logo.png?a;b')).toContain(
      '; img-src https://cdn.example.com:8443; ',
    );
  });

  test.each(['https://a;sandbox/logo.png', 'https://a,b/logo.png'])(
    'a logo cannot add a directive or end the policy: %s',
    (logoUrl) => {
      expect(new URL(logoUrl).origin).toMatch(/[;,]/);
      const policy = policyFor(logoUrl);
      expect(policy).toMatch(
        /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
      );
    },
  );
});
