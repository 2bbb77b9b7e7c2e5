import { describe, expect, test } from '@jest/globals';
import { inScheme } from '../../panel/src/parts/mail-scheme.ts';
import { colorsOf, warningsOf } from '../../panel/src/places/brands/contrast.ts';
import {
  type Brand,
  changesOf,
  draftOf,
  inverseOf,
  needsAgain,
  previewOf,
} from '../../panel/src/places/brands/draft.ts';

const BRAND: Brand = {
  id: 1,
  slug: 'atelier',
  name: 'Atelier',
  isDefault: false,
  primaryColor: '#aa3311',
  backgroundColor: null,
  logoUrl: null,
  iconUrl: null,
  footerText: 'Brno',
  emailFrom: null,
  emailFromName: null,
  smtp: {
    host: 'mail.example.com',
    port: 587,
    secure: false,
    allowInsecure: false,
    user: 'ann',
    auth: 'password',
    hasPassword: true,
    oauth2: null,
  },
  idpOrgId: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};
const OAUTH2: Brand = {
  ...BRAND,
  smtp: {
    host: 'mail.example.com',
    port: 587,
    secure: false,
    allowInsecure: false,
    user: 'ann',
    auth: 'oauth2',
    hasPassword: false,
    oauth2: {
      tokenUrl: 'https://login.example.com/token',
      clientId: 'usher',
      scope: null,
      hasClientSecret: true,
      hasRefreshToken: true,
    },
  },
};
const draft = draftOf(BRAND);
const smtp = (changes: object) => ({ ...draft, smtp: { ...draft.smtp, ...changes } });

describe('colors that make text unreadable', () => {
  const look = { primaryColor: '#fff2a8', backgroundColor: null, logoUrl: null };

  test('are warned of for links and the name, with the color that mails use instead', () => {
    expect(warningsOf(look).map(({ what, needed, used }) => [what, needed, used])).toEqual([
      ['links', 4.5, '#1c2024'],
      ['name', 3, '#1c2024'],
    ]);
  });

  test('are none where there is contrast enough, and a logo stands in place of the name', () => {
    expect(warningsOf({ primaryColor: null, backgroundColor: null, logoUrl: null })).toEqual([]);
    expect(warningsOf({ ...look, logoUrl: 'https://example.com/l.png' }).map(({ what }) => what)).toEqual(['links']);
    expect(warningsOf({ ...look, backgroundColor: '#1d1d1d' }).map(({ what }) => what)).toEqual(['links']);
  });

  test('a small mail has the colors that a real one gets', () => {
    const light = colorsOf(look, false);
    expect([light['--look-link'], light['--look-on-primary'], light['--look-page']]).toEqual([
      '#1c2024',
      '#000000',
      '#f4f5f7',
    ]);
    expect(colorsOf({ ...look, primaryColor: 'red;x:url(y)' }, true)['--look-primary']).toBe('#3451b2');
  });
});

describe('a brand that is edited', () => {
  test('saves what differs, and empty texts as null', () => {
    expect(changesOf(BRAND, draft)).toEqual({});
    const changed = { ...draft, name: 'Atelier 2', footerText: ' ', emailFrom: 'hi@example.com' };
    expect(changesOf(BRAND, changed)).toEqual({ name: 'Atelier 2', footerText: null, emailFrom: 'hi@example.com' });
  });

  test('sends of the mail server what differs, and the password only when one is typed', () => {
    expect(changesOf(BRAND, smtp({ port: '465', secure: true }))).toEqual({ smtp: { port: 465, secure: true } });
    expect(changesOf(BRAND, smtp({ password: 'new' }))).toEqual({ smtp: { password: 'new' } });
    expect(changesOf(BRAND, smtp({ forgetPassword: true }))).toEqual({ smtp: { password: null } });
    expect(changesOf(BRAND, smtp({ own: false }))).toEqual({ smtp: null });
    const plain = { ...BRAND, smtp: null };
    expect(changesOf(plain, draftOf(plain))).toEqual({});
    const wanted = { ...draftOf(plain), smtp: { ...draftOf(plain).smtp, own: true, host: 'mail.example.com' } };
    expect(changesOf(plain, wanted)).toEqual({ smtp: { host: 'mail.example.com', port: 587 } });
  });

  test('asks for the password again when it belongs to another server or user', () => {
    expect(needsAgain(BRAND, draft.smtp, 'password')).toBe(false);
    for (const change of [{ host: 'x' }, { port: '25' }, { user: '' }]) {
      expect(needsAgain(BRAND, { ...draft.smtp, ...change }, 'password')).toBe(true);
      expect(needsAgain(BRAND, { ...draft.smtp, ...change, password: 'p' }, 'password')).toBe(false);
    }
  });

  test('sends of an OAuth 2.0 account what differs, and its secrets only when they are typed', () => {
    const { smtp: own } = draftOf(OAUTH2);
    const saved = (changes: object) => changesOf(OAUTH2, { ...draftOf(OAUTH2), smtp: { ...own, ...changes } });
    expect(saved({})).toEqual({});
    expect(saved({ scope: 'mail', clientSecret: 's' })).toEqual({
      smtp: { oauth2: { scope: 'mail', clientSecret: 's' } },
    });
    expect(saved({ forgetRefreshToken: true })).toEqual({ smtp: { oauth2: { refreshToken: null } } });
    // A password that was typed before the other kind was chosen stays here.
    expect(saved({ password: 'p' })).toEqual({});
    expect(saved({ auth: 'password', password: 'p' })).toEqual({ smtp: { auth: 'password', password: 'p' } });
    const turned = {
      auth: 'oauth2',
      tokenUrl: 'https://login.example.com/token',
      clientId: 'usher',
      clientSecret: 's',
    };
    expect(changesOf(BRAND, smtp({ ...turned, password: 'p' }))).toEqual({
      smtp: {
        auth: 'oauth2',
        oauth2: { tokenUrl: 'https://login.example.com/token', clientId: 'usher', clientSecret: 's' },
      },
    });
  });

  test('asks for the secrets of an OAuth 2.0 account again when they belong to another server, user or client', () => {
    const { smtp: own } = draftOf(OAUTH2);
    for (const secret of ['clientSecret', 'refreshToken'] as const) {
      expect(needsAgain(OAUTH2, own, secret)).toBe(false);
      for (const change of [{ host: 'x' }, { port: '25' }, { user: 'ben' }, { tokenUrl: 'x' }, { clientId: 'x' }]) {
        expect(needsAgain(OAUTH2, { ...own, ...change }, secret)).toBe(true);
        expect(needsAgain(OAUTH2, { ...own, ...change, [secret]: 's' }, secret)).toBe(false);
        const forgotten = { ...own, ...change, forgetClientSecret: true, forgetRefreshToken: true };
        expect(needsAgain(OAUTH2, forgotten, secret)).toBe(false);
      }
    }
  });

  test('can be undone, but for mail servers and the default', () => {
    expect(inverseOf(BRAND, { name: 'B', footerText: null })).toEqual({ name: 'Atelier', footerText: 'Brno' });
    expect(inverseOf(BRAND, { smtp: null })).toBeNull();
    expect(inverseOf(BRAND, { isDefault: true })).toBeNull();
  });

  test('is previewed with what is whole, so that half a color shows the stored one', () => {
    expect(previewOf({ ...draft, primaryColor: '#aa', logoUrl: 'htt', name: '' }, 'mail')).toEqual({
      kind: 'mail',
      backgroundColor: null,
      iconUrl: null,
      footerText: 'Brno',
    });
    expect(previewOf({ ...draft, logoUrl: 'https://example.com/l.png' }, 'push')).toMatchObject({
      kind: 'push',
      name: 'Atelier',
      primaryColor: '#aa3311',
      logoUrl: 'https://example.com/l.png',
    });
  });
});

test('a mail is shown in light or dark, whatever the system prefers', () => {
  const mail = '@media (prefers-color-scheme:dark){a}@media ( prefers-color-scheme : light ){b}';
  expect(inScheme(mail, true)).toBe('@media (min-width:0){a}@media (max-width:0){b}');
  expect(inScheme(mail, false)).toBe('@media (max-width:0){a}@media (min-width:0){b}');
});
