import { describe, expect, test } from '@jest/globals';
import { MASK, mask } from '../../src/persistence/audit.ts';

describe('masking of audit records', () => {
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
  ])('the value of %s is masked, whatever its kind', (name) => {
    for (const value of ['canary', 42, ['canary'], { deep: 'canary' }]) {
      expect(mask({ [name]: value, beside: 'seen' })).toEqual({ [name]: MASK, beside: 'seen' });
    }
  });

  test.each([
    ['key'],
    ['keyName'],
    ['tokenized'],
    ['secretary'],
    ['cookieless'],
    ['name'],
    ['publicKey'],
    ['tokenUrl'],
  ])('%s is not masked', (name) => {
    expect(mask({ [name]: 'seen' })).toEqual({ [name]: 'seen' });
  });

  test('the presence of a secret stays visible: null, empty text and flags stay', () => {
    const data = { password: null, secret: '', hasPassword: true };
    expect(mask(data)).toEqual(data);
  });

  test('signed tokens are masked anywhere, and the given data stays unchanged', () => {
    const data = { note: 'sent eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl to ann', list: [new Date(0)] };
    expect(mask(data)).toEqual({ note: `sent ${MASK} to ann`, list: ['1970-01-01T00:00:00.000Z'] });
    expect(data.note).toContain('eyJ');
  });

  test('a signed token directly after other text is masked', () => {
    const token = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl';
    for (const before of ['token-', 'token=', 'my_', 'a.'])
      expect(JSON.stringify(mask({ note: before + token }))).not.toContain('eyJ');
    expect(mask({ note: 'three.dotted.words' })).toEqual({ note: 'three.dotted.words' });
  });

  test('masking terminates for data of any depth', () => {
    let deep: unknown = 'bottom';
    for (let i = 0; i < 1000; i++) deep = { deep };
    expect(JSON.stringify(mask(deep))).not.toContain('bottom');
  });
});
