import { describe, expect, test } from '@jest/globals';
import { simpleParser } from 'mailparser';
import { contentOf } from '../../../src/provider/mail/fallback.ts';
import { readPayload } from '../../../src/provider/mail/payload.ts';
import { hrefOf, scrub } from '../../../src/provider/mail/text.ts';
import { IDP, mailBody } from './provider-mails.ts';

/** Links of auth mails are compared and sent in one form, and nobody's name becomes a link. */

const ORIGINS = new Set([IDP, 'https://usher.example.com']);

describe('a link', () => {
  test.each([
    ['https://IDP.example.com:443/a/../b?x=1#y', `${IDP}/b?x=1#y`],
    ['https:idp.example.com/x', `${IDP}/x`],
    ['https:///idp.example.com/x', `${IDP}/x`],
    [' https://idp.example.com/x ', `${IDP}/x`],
    [`https://idp.example.com/x?q=a"b'c<d>`, `${IDP}/x?q=a%22b%27c%3Cd%3E`],
    ['https://idp.example.com/%5C', `${IDP}/%5C`],
    ['https://ｉｄｐ.example.com/x', `${IDP}/x`],
    ['https://idp。example。com/x', `${IDP}/x`],
    ['https://%69dp.example.com/x', `${IDP}/x`],
    ['https://idp.example.com?to=a@b', `${IDP}/?to=a@b`],
    ['https://idp.example.com\\@evil.example/', null],
    ['https:\\\\idp.example.com/x', null],
    ['https://idp.example.com/x?a=\\', null],
    ['https://@idp.example.com/x', null],
    ['https://:@idp.example.com/x', null],
    ['https:@idp.example.com/x', null],
    ['https://evil.example@idp.example.com/x', null],
    ['https://idp.example.com@evil.example/', null],
    ['https://idp.example.com/\tx', null],
    ['https://idp.exam\nple.com/x', null],
    ['https://idp.example.com/\0', null],
    ['https://idp.example.com/\x7f', null],
    ['https://idp.example.com/\x85', null],
    ['blob:https://idp.example.com/x', null],
    ['wss://idp.example.com/x', null],
    ['//idp.example.com/x', null],
    ['http://idp.example.com/x', null],
  ])('%j is sent as %s', async (link, href) => {
    expect(hrefOf(link, ORIGINS)).toBe(href);
    const mail = await readPayload(JSON.parse(mailBody({ url: link }).body), ORIGINS);
    expect(mail.url).toBe(href);
  });
});

describe('the words of the provider', () => {
  test.each([
    ['evil.example/login', ''],
    ['Ann evil.example/login Smith', 'Ann  Smith'],
    ['evil.example./login', ''],
    ['evil.example:8080/login', ''],
    ['evil.example?x', ''],
    ['evil.example#x', ''],
    ['evil.example\\login', ''],
    ['přihlášení.čz/x', ''],
    ['evil。example/login', ''],
    ['evil.xn--p1ai/login', ''],
    ['ann@evil.example/login', 'ann@'],
    ['192.0.2.7/login', ''],
    ['idp.example.com/login', ''],
    ['see(evil.example/login)', 'see('],
    ['evil\0.example/login', ''],
    ['ev\u00adil.example/login', ''],
    ['tel:+420123456789', ''],
    [`https://idp.example.com'@evil.example/`, ''],
    ['https://idp.example.com"@evil.example', ''],
    ['„https://idp.example.com/x“', '„https://idp.example.com/x“'],
    ['https://IDP.example.com:443/x, or', 'https://idp.example.com/x, or'],
    ['https://idp.example.com', 'https://idp.example.com/'],
    ['https://idp.example.com\\@evil.example/', ''],
    ['https://idp.example.com/\u0007x', ''],
    ['https:<www.x>//evil.example', 'https:<>'],
    ['https://idp.example.com/x[evil.example/login', ''],
    ['https://idp.example.com/x,evil.example/login', ''],
    ['еhttps://idp.example.com/x?evil.example/login', 'е'],
    // Words that no program takes for a link.
    ['Ann Smith-Jones, Ph.D.', 'Ann Smith-Jones, Ph.D.'],
    ['a.s./s.r.o.', 'a.s./s.r.o.'],
    ['verze 1.2/3', 'verze 1.2/3'],
    ['J.R.R. Tolkien', 'J.R.R. Tolkien'],
    ['example.com', 'example.com'],
    ['Jan Novák ml. / Praha', 'Jan Novák ml. / Praha'],
  ])('%j reads %j', (text, left) => {
    expect(scrub(text, ORIGINS)).toBe(left);
  });

  test('a link hidden by a tag that the mail drops is found, in every part', async () => {
    const name = 'evil.exa<b></b>mple/login w<i></i>ww.evil.example ht<em></em>tps://evil.example';
    const parts = ['title', 'preHeader', 'subject', 'greeting', 'text', 'footerText', 'buttonText'];
    const templateData = Object.fromEntries(parts.map((part) => [part, `${part} ${name}`]));
    const mail = await readPayload(JSON.parse(mailBody({ templateData }).body), ORIGINS);
    expect(JSON.stringify(contentOf(mail, ORIGINS))).not.toMatch(/evil\.example/);
  });
});

describe('a program that shows a mail', () => {
  const PIECES = [
    'http',
    'https',
    'HTTPS',
    'ftp',
    'mailto',
    'www.',
    'ht',
    'tps',
    'x',
    'Ann',
    'Smith',
    'and',
    'javascript',
    ':',
    '://',
    ':/',
    '//',
    '/',
    '\\',
    '/\\',
    '\\\\',
    '@',
    '.',
    ',',
    '?',
    '#',
    ';',
    '(',
    ')',
    '[',
    ']',
    '!',
    'idp.example.com',
    'evil.com',
    'evil.cz',
    'usher.example.com',
    'idp.example.com/x',
    'evil.com/login',
    ' ',
    ' ',
    '\t',
    '\n',
    '\0',
    '\u0007',
    '\u00a0',
    '\u200b',
    '\u00ad',
    '。',
    '．',
    '：',
    '／',
    'е',
    'ß',
    '<',
    '>',
    '"',
    "'",
    '`',
    '&amp;',
    '&lt;',
    '&#64;',
    '&#47;',
    '&#x2e;',
    '<b>',
    '</b>',
    '<br>',
    '“',
    '„',
    `${IDP}/x`,
    `${IDP}`,
    `${IDP}\\`,
    `${IDP}'`,
    `${IDP}<`,
    `${IDP}:443`,
    '%2f',
    '%40',
    '443',
    '8080',
    '192.0.2.7',
  ];

  /** A generator of its own: the same texts on every run. */
  function* texts(count: number): Generator<string> {
    let state = 34;
    const next = (below: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    for (let at = 0; at < count; at++)
      yield Array.from({ length: 2 + next(8) }, () => PIECES[next(PIECES.length)]).join('');
  }

  /** Links that the parser's own rules find in a text, with what they stand on. */
  async function linksOf(lines: readonly string[]): Promise<string[]> {
    const encoded = Buffer.from(lines.join('\r\n\r\n')).toString('base64');
    const head = 'content-type: text/plain; charset=utf-8\r\ncontent-transfer-encoding: base64\r\n\r\n';
    const { textAsHtml = '' } = await simpleParser(head + encoded);
    const all = [...textAsHtml.matchAll(/<a href="([^"]*)">/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
    // It makes `@name` a mention, which is no link to where the text says.
    return all.filter((href) => !href.startsWith('https://twitter.com/'));
  }

  /** A bare name or address is left: names with a dot are no links to most programs. */
  function isForeign(href: string): boolean {
    const url = URL.parse(href);
    if (url === null || url.protocol === 'mailto:') return false;
    if (url.username !== '' || /^[^/]*\/\/[^/?#]*\\/.test(href)) return true;
    const bare = /^http:\/\/[^/?#]+$/.test(href);
    return !bare && !ORIGINS.has(url.origin);
  }

  test('finds links of foreign hosts in what was written, and none in what is sent', async () => {
    const all = [...texts(process.env.USHER_LONG === undefined ? 6000 : 200_000)];
    const found = { before: 0, after: [] as string[], kept: 0 };
    for (let at = 0; at < all.length; at += 200) {
      const batch = all.slice(at, at + 200);
      const sent = await Promise.all(
        batch.map(async (text) => {
          const json = JSON.parse(mailBody({ templateData: { text, title: 'T' } }).body);
          const mail = await readPayload(json, ORIGINS);
          expect(scrub(String(mail.templateData.text), ORIGINS)).toBe(mail.templateData.text);
          return [String(mail.templateData.text), contentOf(mail, ORIGINS).text];
        }),
      );
      found.before += (await linksOf(batch)).filter(isForeign).length;
      const links = await linksOf(sent.flat());
      found.after.push(...links.filter(isForeign));
      found.kept += links.filter((link) => link.startsWith(`${IDP}/`)).length;
    }
    expect(found.after).toEqual([]);
    expect(found.before).toBeGreaterThan(500);
    expect(found.kept).toBeGreaterThan(100);
  });
});
