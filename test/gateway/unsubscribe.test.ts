import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { contrastOf } from '../../src/delivery/colors.ts';
import { renderLayout } from '../../src/delivery/layout.ts';
import { unsubscribePage } from '../../src/gateway/pages/unsubscribe.ts';
import { type State, wordsFor } from '../../src/gateway/pages/unsubscribe-words.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const PATH = '/api/notifications/unsubscribe';
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const SETTINGS = 'http://app.example.com/settings?a=1&b="2"';

describe('the unsubscribe page', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let root: Rest;
  let ann: Rest;
  let person: number;
  let type: number;
  let token: string;

  beforeAll(async () => {
    storage = await createStorage('pglite');
    usher = await startUsher(storage, { env: { NOTIFICATIONS_SETTINGS_URL: SETTINGS } });
    root = await Rest.as(usher, 'admin@example.com');
    ann = await Rest.as(usher, 'ann@example.com');
    await root.post('/api/applications', { code: 'billing', name: 'Billing <b>& Co</b>' });
    const made = await root.post('/api/applications/billing/notification-types', {
      code: 'due',
      name: '<script>alert(1)</script>',
    });
    type = made.body.data.id;
    person = (await ann.get('/api/profile/me')).body.data.id;
    token = new URL(await usher.app.unsubscriptions.link({ base: usher.rest, person, type })).searchParams.get(
      'token',
    ) as string;
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  });

  const ask = async (method: string, query: string, headers: Record<string, string> = { accept: BROWSER }) => {
    const answer = await fetch(`${usher.rest}${PATH}?${query}`, { method, headers, redirect: 'error' });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const isOn = async () => {
    const switches = (await ann.get('/api/profile/me/notifications/billing')).body.response;
    return switches.find(({ code }: { code: string }) => code === 'due').email as boolean;
  };

  test('a button turns the mail off or on, and a GET changes nothing', async () => {
    const asked = await ask('GET', `token=${token}`);
    expect([asked.status, asked.text]).toEqual([
      200,
      expect.stringContaining('<form method="post"><button>Unsubscribe'),
    ]);
    expect((await ask('GET', `token=${token}&undo=true`)).status).toBe(200);
    expect(await isOn()).toBe(true);

    const off = await ask('POST', `token=${token}`);
    expect([off.status, await isOn()]).toEqual([200, false]);
    expect(off.text).toContain(`<form method="post" action="?token=${token}&amp;undo=true"><button`);
    for (const query of [`token=${token}`, `token=${token}&undo=true`]) {
      const again = await ask('GET', query);
      expect([again.status, again.text]).toEqual([200, expect.stringContaining('<h1>Unsubscribed</h1>')]);
      expect(again.text).toContain(`action="?token=${token}&amp;undo=true"`);
    }
    expect(await isOn()).toBe(false);

    const on = await ask('POST', `token=${token}&undo=true`);
    expect([on.status, await isOn()]).toEqual([200, true]);
    expect(on.text).toContain(`<form method="post" action="?token=${token}"><button>Unsubscribe`);
  });

  test('one-click unsubscription (RFC 8058) answers 200 without a redirect, for every form encoding', async () => {
    const multipart = new FormData();
    multipart.set('List-Unsubscribe', 'One-Click');
    for (const body of [new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }), multipart]) {
      await ask('POST', `token=${token}&undo=true`);
      const answer = await fetch(`${usher.rest}${PATH}?token=${token}`, { method: 'POST', body, redirect: 'error' });
      expect([answer.status, await answer.json()]).toEqual([200, { success: true, data: { unsubscribed: true } }]);
      expect(await isOn()).toBe(false);
    }
    const undone = await ask('POST', `token=${token}&undo=true`, {});
    expect([undone.status, undone.text]).toEqual([200, '{"success":true,"data":{"unsubscribed":false}}']);
  });

  test('a damaged link is a page for people and the error shape for programs, with the same status', async () => {
    const damaged = [
      `token=${token}x`,
      `token=${token.slice(0, -1)}`,
      `token=${token.replace('.', '%00')}`,
      'token=',
      '',
    ];
    for (const method of ['GET', 'POST']) {
      for (const query of [
        ...damaged,
        `token=${token}&token=${token}`,
        `token=${'a'.repeat(201)}`,
        `token=${token}x&utm_source=news`,
      ]) {
        const page = await ask(method, query);
        expect([page.status, page.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
        expect(page.text).toContain('<h1>This link does not work</h1>');
        expect(page.text).not.toContain('<form');
        for (const accept of [undefined, '*/*', 'application/json']) {
          const program = await ask(method, query, accept === undefined ? {} : { accept });
          expect([program.status, JSON.parse(program.text)]).toMatchObject([
            400,
            { success: false, code: 'BAD_REQUEST', details: { code: 'VALIDATION_FAILED' } },
          ]);
        }
      }
    }
    expect(await isOn()).toBe(true);
  });

  test('other errors of these addresses are pages for people, too', async () => {
    const headers = { 'content-type': 'application/xml' };
    const url = `${usher.rest}${PATH}?token=${token}`;
    const page = await fetch(url, { method: 'POST', body: '<x/>', headers: { ...headers, accept: BROWSER } });
    expect([page.status, await page.text()]).toEqual([415, expect.stringContaining('<h1>Something went wrong</h1>')]);
    const json = await fetch(url, { method: 'POST', body: '<x/>', headers });
    expect([json.status, await json.json()]).toMatchObject([415, { code: 'UNSUPPORTED_MEDIA_TYPE' }]);
    expect(await isOn()).toBe(true);
  });

  test('a link to a deleted type of mail explains that with 404', async () => {
    const link = await usher.app.unsubscriptions.link({ base: '', person, type: 999_999 });
    const gone = link.slice(link.indexOf('?') + 1);
    for (const method of ['GET', 'POST']) {
      const page = await ask(method, gone);
      expect([page.status, page.text]).toEqual([404, expect.stringContaining('<h1>This link is out of date</h1>')]);
      expect(JSON.parse((await ask(method, gone, {})).text)).toMatchObject({ code: 'NOT_FOUND' });
    }
  });

  test("mail that was locked since is explained in the brand's look with 403, and the buttons have no effect", async () => {
    const path = `/api/applications/billing/notification-types/${type}`;
    await root.put(path, { userCanDisable: false });
    try {
      for (const [method, query] of [
        ['GET', `token=${token}`],
        ['POST', `token=${token}`],
        ['POST', `token=${token}&undo=true`],
      ] as const) {
        const page = await ask(method, query);
        expect([page.status, page.text]).toEqual([
          403,
          expect.stringContaining('<h1>These e-mails cannot be switched off</h1>'),
        ]);
        expect(page.text).toContain('Billing &lt;b&gt;&amp; Co&lt;/b&gt;');
        expect(page.text).toContain('<header>');
        expect(page.text).not.toContain('<form');
        expect(JSON.parse((await ask(method, query, {})).text)).toMatchObject({
          details: { code: 'PREFERENCE_LOCKED' },
        });
      }
    } finally {
      await root.put(path, { userCanDisable: true });
    }
    expect(await isOn()).toBe(true);
  });

  test('the unsubscribe page shows names as text, links the settings, and admits only its own style and the logo', async () => {
    const { text, headers } = await ask('GET', `token=${token}`);
    expect(text).not.toContain('<script');
    expect(text).toContain('“<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>” from <bdi>Billing &lt;b&gt;');
    expect(text).toContain('<a href="http://app.example.com/settings?a=1&amp;b=&quot;2&quot;">Your settings</a>');
    const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(text) ?? [];
    const hash = createHash('sha256').update(style).digest('base64');
    const policy = `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;
    expect(headers.get('content-security-policy')).toBe(policy);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });

  test("the unsubscribe page uses the user's brand and language, else the browser's language", async () => {
    const brand = await root.post('/api/admin/brands', {
      slug: 'mine',
      name: 'Mine "><img src=x onerror=alert(1)>',
      primaryColor: '#ffd400',
      backgroundColor: '#102030',
      logoUrl: 'https://cdn.example.com/a;script-src%20*/"><script>alert(1)</script>?x=1&y=2',
      footerText: 'Brno\n<script>alert(2)</script>',
    });
    expect(brand.status).toBe(201);
    expect((await ask('GET', `token=${token}`, { accept: BROWSER, 'accept-language': 'sv, de;q=0.5' })).text).toContain(
      '<html lang="de">',
    );
    await ann.put('/api/profile/me', { locale: 'cs', brand: 'mine' });
    const { text, headers } = await ask('GET', `token=${token}`, { accept: BROWSER, 'accept-language': 'de' });
    expect(text).toContain('<html lang="cs">');
    expect(text).toContain('<h1>Odhlásit odběr</h1>');
    expect(text).toContain('--ground:#102030');
    expect(text).toContain(
      'button{font:inherit;font-weight:600;min-height:2.75rem;padding:.55rem 1.3rem;border:2px solid var(--edge);border-radius:6px;background:#ffd400;color:#000000',
    );
    expect(text).toContain('<div dir="auto">&lt;script&gt;alert(2)&lt;/script&gt;</div>');
    expect(text).toContain('alt="Mine &quot;&gt;&lt;img src=x onerror=alert(1)&gt;"');
    expect(text).not.toContain('<script');
    expect(headers.get('content-security-policy')).toContain("; img-src https://cdn.example.com; form-action 'self';");
    expect(headers.get('content-security-policy')).not.toContain('script-src');
  });
});

const PLAIN = { primaryColor: null, backgroundColor: null, logoUrl: null };
const BRAND = { name: 'B', primaryColor: null, backgroundColor: null, logoUrl: null, footerText: null };
const shown = (brand: Partial<typeof BRAND> | Record<string, string>) =>
  unsubscribePage({
    state: 'ask',
    subscription: {
      appName: 'A',
      typeName: 'T',
      switchable: true,
      email: true,
      locale: null,
      brand: { ...BRAND, ...brand },
    },
    languages: undefined,
    settingsUrl: 'https://example.com/',
    form: { does: 'unsubscribe', action: null },
  }).page;

test.each([
  '#ffffff',
  '#000000',
  '#ffff00',
  '#777777',
  '#767676',
  '#ff0000',
  '#00ff00',
  '#0000ff',
  '#3451b2',
  '#fff3c4',
])('every text and edge of a page in %s has enough contrast, light and dark', (hex) => {
  for (const look of [{ primaryColor: hex }, { backgroundColor: hex }, { primaryColor: hex, backgroundColor: hex }]) {
    const page = shown(look);
    const schemes = [...page.matchAll(/:root\{(?:color-scheme:light dark;)?(--[^}]*)\}/g)].map(([, declared = '']) =>
      Object.fromEntries(declared.split(';').map((line) => line.slice(2).split(':') as [string, string])),
    );
    expect(schemes).toHaveLength(2);
    for (const { ground = '', card = '', ink = '', soft = '', name = '', link = '', edge = '' } of schemes) {
      for (const [on, text] of [
        [card, ink],
        [card, link],
        [ground, soft],
        [ground, name],
      ] as const) {
        expect(contrastOf(on, text)).toBeGreaterThanOrEqual(4.5);
      }
      expect(contrastOf(card, edge)).toBeGreaterThanOrEqual(3);
    }
    const [, ground = '', ink = ''] = /border-radius:6px;background:(#\w+);color:(#\w+);cursor/.exec(page) ?? [];
    expect(contrastOf(ground, ink)).toBeGreaterThanOrEqual(4.5);
  }
});

test('only colors get into the style sheet', () => {
  const page = shown({ primaryColor: 'red;}</style><script>', backgroundColor: 'url(https://evil.example.com)' });
  expect(page).not.toContain('evil');
  expect(page).not.toContain('<script');
});

test.each([
  ['cs', undefined, 'cs'],
  ['de-at', 'cs', 'de'],
  ['sv', 'sk-SK, cs;q=0.9', 'sk'],
  [null, 'sv;q=1, cs;q=0.5, de;q=0.7', 'de'],
  [null, 'cs;q=0', 'en'],
  [null, '*', 'en'],
  [null, ';q=x,,=', 'en'],
  [null, undefined, 'en'],
  ['constructor', '__proto__', 'en'],
])('a reader of %s whose browser asks for %s reads %s', (locale, accepted, language) => {
  expect(wordsFor(locale, accepted).language).toBe(language);
});

test('every language of unsubscribe links has all states, with type and application in their places', () => {
  const states: State[] = ['ask', 'off', 'on', 'locked', 'damaged', 'gone', 'trouble'];
  for (const tag of ['cs', 'de', 'en', 'es', 'fr', 'it', 'nl', 'pl', 'pt', 'sk']) {
    const mail = { subject: '', html: '', locale: tag, unsubscribeUrl: 'https://example.com/' };
    const frame = { name: 'B', look: { ...PLAIN, footerText: null } };
    const link = /<a dir="auto"[^>]*>([^<]*)</.exec(renderLayout(frame, mail))?.[1];
    expect([tag, link === 'Stop receiving e-mails of this kind']).toEqual([tag, tag === 'en']);
    const { language, words } = wordsFor(tag, undefined);
    expect(language).toBe(tag);
    for (const state of states) {
      const { text } = words.text(state, 'TYPE', 'APP');
      const isNamed = ['ask', 'off', 'on', 'locked'].includes(state);
      expect([words.title[state] !== '', text !== '', text.includes('TYPE'), text.includes('APP')]).toEqual([
        true,
        true,
        isNamed,
        isNamed,
      ]);
    }
  }
});
