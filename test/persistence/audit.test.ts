import { describe, expect, test } from '@jest/globals';
import { MASK, mask } from '../../src/persistence/audit.ts';

describe('mask', () => {
  test.each([
    ['password'],
    ['smtpPassword'],
    ['SMTP_PASSWORD'],
    ['smtp.password'],
    ['secret'],
    ['clientSecret'],
    ['x-webhook-secret'],
    ['webhookSecrets'],
    ['token'],
    ['access_token'],
    ['serviceAccountToken'],
    ['authorization'],
    ['cookie'],
    ['apiKey'],
    ['apiKeys'],
    ['apikey'],
    ['x-internal-api-key'],
    ['privateKey'],
    ['signingKey'],
    ['notificationSigningKey'],
    ['secretKey'],
    ['brandSmtpKey'],
  ])('hides the value of %s, of whatever kind', (name) => {
    for (const value of ['canary', 42, ['canary'], { deep: 'canary' }]) {
      expect(mask({ [name]: value, beside: 'seen' })).toEqual({ [name]: MASK, beside: 'seen' });
    }
  });

  test.each([['key'], ['keyName'], ['tokenized'], ['secretary'], ['cookieless'], ['name'], ['publicKey']])(
    'shows %s',
    (name) => {
      expect(mask({ [name]: 'seen' })).toEqual({ [name]: 'seen' });
    },
  );

  test('shows whether there is a secret: null, empty text and flags stay', () => {
    const data = { password: null, secret: '', hasPassword: true };
    expect(mask(data)).toEqual(data);
  });

  test('hides signed tokens wherever they stand, and leaves the given data alone', () => {
    const data = { note: 'sent eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl to ann', list: [new Date(0)] };
    expect(mask(data)).toEqual({ note: `sent ${MASK} to ann`, list: ['1970-01-01T00:00:00.000Z'] });
    expect(data.note).toContain('eyJ');
  });

  test('hides a signed token that follows other words without a space', () => {
    const token = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl';
    for (const before of ['token-', 'token=', 'my_', 'a.'])
      expect(JSON.stringify(mask({ note: before + token }))).not.toContain('eyJ');
    expect(mask({ note: 'three.dotted.words' })).toEqual({ note: 'three.dotted.words' });
  });

  test('ends, however deep the data', () => {
    let deep: unknown = 'bottom';
    for (let i = 0; i < 1000; i++) deep = { deep };
    expect(JSON.stringify(mask(deep))).not.toContain('bottom');
  });
});
