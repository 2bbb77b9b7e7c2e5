import { describe, expect, test } from '@jest/globals';
import { chooseVariant } from '../../../src/notifications/variant.ts';
import { contentOf } from '../../../src/provider/mail/fallback.ts';
import { readPayload } from '../../../src/provider/mail/payload.ts';
import { scrub, unescapeHtml } from '../../../src/provider/mail/text.ts';
import { IDP, mailBody } from './provider-mails.ts';

const ORIGINS = new Set([IDP, 'https://usher.example.com']);

describe('the provider’s texts', () => {
  test.each([
    ['O&#39;Brien', "O'Brien"],
    ['&lt;b&gt; &amp; &#34;&quot;&apos;', `<b> & ""'`],
    ['&amp;lt;', '&lt;'],
    ['&amp;#39;', '&#39;'],
    ['&#x41;&#65;&unknown;&', 'AA&unknown;&'],
    ['a&#13;&#10;b&#0;&#55296;', 'ab'],
  ])('%s is unescaped once', (text, plain) => {
    expect(unescapeHtml(text)).toBe(plain);
  });

  test.each([
    ['See https://idp.example.com/x?y=1.', 'See https://idp.example.com/x?y=1.'],
    ['See https://evil.example.com/x now', 'See  now'],
    ['HTTP://EVIL.example.com', ''],
    ['www.evil.example.com/x', ''],
    ['javascript:alert(1)', ''],
    ['https://idp.example.com@evil.example.com/', ''],
    ['https://idp.example.com.evil.example.com/', ''],
    ['My data: none', 'My data: none'],
    ['//evil.example.com/x', ''],
    ['\\\\evil.example.com/x', ''],
    ['/\\evil.example.com/x', ''],
    ['https:evil.example.com', ''],
    ['https:/\\evil.example.com', ''],
    ['ht\ttps://evil.example.com', ''],
    [' java\nscript:alert(1)', ''],
    ['custom+scheme://evil.example.com', ''],
    ['mailto:eve@evil.example.com', ''],
    ['Go.http://evil.example.com', 'Go.'],
    ['Go.https://idp.example.com/x', 'Go.https://idp.example.com/x'],
    ['x://a?http://idp.example.com', ''],
    ['Tel: 123 // 8 až 16', 'Tel: 123 // 8 až 16'],
    ['a/b and//or', 'a/b and//or'],
    ['gigi@example.com', 'gigi@example.com'],
    ['Zkopírujte url (viz níže).', 'Zkopírujte url (viz níže).'],
    ['Look:\nhttps://idp.example.com/x', 'Look:\nhttps://idp.example.com/x'],
  ])("the provider's text is cleaned: %s", async (text, left) => {
    const { templateData } = await readPayload(JSON.parse(mailBody({ templateData: { text } }).body), ORIGINS);
    expect(templateData.text).toBe(left);
    expect(scrub(left, ORIGINS)).toBe(left);
  });
});

describe('long and deep texts', () => {
  const read = (of: Parameters<typeof mailBody>[0]) => readPayload(JSON.parse(mailBody(of).body), ORIGINS);

  test.each(['args', 'templateData'] as const)('%s may fill a body, and are scanned to the end', async (part) => {
    const words = 'Dobrý den, zde je váš kód. '.repeat(37_000);
    const hidden = `${words}http://evil.example.com/x evil.example/login ${IDP}/x?a=1 end`;
    const mail = await read({ [part]: { text: hidden, deep: [['see www.evil.example.com', { [hidden]: hidden }]] } });
    expect(mail[part].text).toBe(`${words}  ${IDP}/x?a=1 end`);
    expect(JSON.stringify(mail)).not.toContain('evil.example');
  });

  test('a run without white space that no link can have is dropped where it could hold one', async () => {
    const run = 'x'.repeat(20_000);
    const { args } = await read({ args: { plain: `a ${run} b`, link: `a ${run}//evil.example.com b` } });
    expect([args.plain, args.link]).toEqual([`a ${run} b`, 'a  b']);
  });

  test('a part that nests deeper than any provider’s is refused, without a fault of the process', async () => {
    const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
    await expect(read({ args: { deep: nested(63) } })).resolves.toBeDefined();
    for (const depth of [64, 400_000]) {
      await expect(
        readPayload(
          { contextInfo: { eventType: 'x', recipientEmailAddress: 'a@b.example.com' }, args: { deep: nested(depth) } },
          ORIGINS,
        ),
      ).rejects.toMatchObject({ reason: 'VALIDATION_FAILED' });
    }
  });

  test('a code that is a link is dropped', async () => {
    const { code } = await readPayload(
      JSON.parse(mailBody({ args: { code: 'https://evil.example.com/' } }).body),
      ORIGINS,
    );
    expect(code).toBeNull();
  });
});

describe("the mail in the provider's own texts", () => {
  const of = async (templateData: Record<string, unknown>) =>
    contentOf(await readPayload(JSON.parse(mailBody({ templateData }).body), ORIGINS), ORIGINS);

  test("the provider's mail keeps line breaks, drops tags, and gives each text its own direction", async () => {
    const text = 'Name &lt;br&gt;&lt;strong&gt;gigi&lt;/strong&gt;&lt;/br&gt; &lt;img src=x&gt;';
    const { html, text: plain } = await of({ title: 'تهيئة', greeting: '', text });
    expect(html).toContain('<h1 dir="auto"');
    expect(html).toContain('<p dir="auto">Name <br>gigi<br> &lt;img src=x&gt;</p>');
    expect(plain).toBe('تهيئة\n\nName \ngigi\n <img src=x>');
  });

  test("the provider's mail has its preheader, where it differs from the title", async () => {
    expect((await of({})).preheader).toBe('Provider header');
    expect(await of({ preHeader: 'Provider title' })).not.toHaveProperty('preheader');
    expect(await of({ preHeader: undefined })).not.toHaveProperty('preheader');
  });
});

describe('link and code of a mail', () => {
  const read = (of: Parameters<typeof mailBody>[0]) => readPayload(JSON.parse(mailBody(of).body), ORIGINS);

  test.each([
    [`${IDP}/ui/x?code=1`, true],
    ['https://usher.example.com/x', true],
    ['https://evil.example.com/x', false],
    ['http://idp.example.com/x', false],
    ['https://idp.example.com:444/x', false],
    ['https://user@idp.example.com/x', false],
    ['//idp.example.com/x', false],
    ['/ui/login', false],
    ['javascript:alert(1)', false],
    ['', false],
  ])('%s may appear in a mail: %s', async (url, allowed) => {
    expect((await read({ url })).url).toBe(allowed ? url : null);
  });

  test('link and code are found wherever the provider puts them', async () => {
    const none = { code: undefined, orgID: undefined };
    expect(await read({ args: { ...none, oTP: '12345678' }, url: `${IDP}/x?organization=7` })).toMatchObject({
      code: '12345678',
      orgId: '7',
    });
    expect(await read({ args: none, url: `${IDP}/x?userID=2&orgID=100&codeID=K&code=C%2B1` })).toMatchObject({
      code: 'C+1',
      orgId: '100',
    });
    expect(await read({ args: { ...none, orgID: 100 }, url: '' })).toMatchObject({ code: null, orgId: '100' });
    expect(await read({ args: { code: '', orgID: '' }, url: `${IDP}/x?orgID=100&code=7` })).toMatchObject({
      code: '7',
      orgId: '100',
    });
    expect((await read({ args: none, url: '' })).orgId).toBeNull();
  });

  const good = { eventType: 'x', recipientEmailAddress: 'a@b.example.com' };

  test.each([
    ['contextInfo', 'is required', {}],
    ['contextInfo', 'must be an object', { contextInfo: 'x' }],
    ['contextInfo.eventType', 'is required', { contextInfo: { ...good, eventType: undefined } }],
    ['contextInfo.eventType', 'must not be empty', { contextInfo: { ...good, eventType: '' } }],
    [
      'contextInfo.eventType',
      'must be at most 200 characters',
      { contextInfo: { ...good, eventType: 'x'.repeat(201) } },
    ],
    ['contextInfo.recipientEmailAddress', 'is required', { contextInfo: { eventType: 'x' } }],
    ['contextInfo.recipientEmailAddress', 'must be a string', { contextInfo: { ...good, recipientEmailAddress: 7 } }],
    [
      'contextInfo.recipientEmailAddress',
      'must be an ASCII e-mail address',
      { contextInfo: { ...good, recipientEmailAddress: 'a@b\r\nc' } },
    ],
    ['args', 'must be an object', { contextInfo: good, args: [] }],
    ['', 'must be an object', null],
  ])('a call without a usable %s is refused: %s', async (path, message, json) => {
    await expect(readPayload(json, ORIGINS)).rejects.toThrow(
      expect.objectContaining({ details: expect.objectContaining({ issues: [{ path, message }] }) }),
    );
  });
});

describe('the language variant', () => {
  const registry = new Map([
    ['en', null],
    ['cs', 'en'],
    ['sk', 'cs'],
    ['de', 'at'],
    ['at', 'de'],
    ['pt-br', 'pt'],
  ]);
  const of = (...locales: string[]) => locales.map((locale) => ({ locale }));
  test.each([
    ['cs', of('cs', 'en'), 'cs'],
    ['sk', of('cs', 'en'), 'cs'],
    ['sk', of('en', 'fr'), 'en'],
    ['sk', of('fr', 'de'), 'de'],
    ['de', of('en', 'fr'), 'en'],
    ['de', of('fr', 'it'), 'fr'],
    ['unknown', of('it', 'cs'), 'cs'],
  ])('%s gets the best variant', (locale, variants, chosen) => {
    expect(chooseVariant(variants, locale, registry)?.locale).toBe(chosen);
  });
  test('without variants there is no best one', () => {
    expect(chooseVariant([], 'en', registry)).toBeUndefined();
  });
});
