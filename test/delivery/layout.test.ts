import { describe, expect, test } from '@jest/globals';
import { directionOf } from '../../src/base/language-tags.ts';
import { contrastOf } from '../../src/delivery/colors.ts';
import { renderLayout, renderText } from '../../src/delivery/layout.ts';

const FRAME = {
  name: 'Café & <Co>',
  look: { primaryColor: '#ffee00', backgroundColor: '#101010', logoUrl: null, footerText: 'Line <1>\nLine 2' },
};
const CONTENT = { subject: 'A & B', html: '<p>Hello</p>', locale: 'en' };

describe('the layout of mails', () => {
  test('the mail layout puts the escaped brand around the fragment', () => {
    const html = renderLayout(FRAME, CONTENT);
    expect(html).toMatch(/^<!doctype html>\n<html lang="en" dir="ltr">/);
    expect(html).toContain('<title>A &amp; B</title>');
    expect(html).toContain('<p>Hello</p>');
    expect(html).toContain('Café &amp; &lt;Co&gt;');
    expect(html).toContain('<span dir="auto">Line &lt;1&gt;</span><br><span dir="auto">Line 2</span>');
    expect(html).toContain('background:#101010');
    expect(html).not.toContain('<img');
    expect(html).not.toContain('<script');
  });

  test('the mail layout shows a logo with the name as alternative text', () => {
    const look = { ...FRAME.look, logoUrl: 'https://cdn.example.com/l.png?a=1&b="2"' };
    expect(renderLayout({ ...FRAME, look }, CONTENT)).toContain(
      '<img class="usher-logo" src="https://cdn.example.com/l.png?a=1&amp;b=&quot;2&quot;" alt="Café &amp; &lt;Co&gt;"',
    );
  });

  test('a button is readable on any color, and its address is escaped', () => {
    const button = { text: 'Go <on>', url: 'https://idp.example.com/?a=1&b=2' };
    const yellow = renderLayout(FRAME, { ...CONTENT, button });
    expect(yellow).toContain('href="https://idp.example.com/?a=1&amp;b=2"');
    expect(yellow).toContain('>Go &lt;on&gt;</a>');
    expect(yellow).toContain('color:#000000');
    const blue = { ...FRAME, look: { ...FRAME.look, primaryColor: '#102080' } };
    expect(renderLayout(blue, { ...CONTENT, button })).toContain('color:#ffffff!important');
  });

  test("a template's own button and the footer get readable colors too", () => {
    const light = { ...FRAME, look: { ...FRAME.look, backgroundColor: '#fafafa' } };
    expect(renderLayout(FRAME, CONTENT)).toContain('.usher-body a.usher-button{color:#000000!important}');
    expect(renderLayout(FRAME, CONTENT)).toContain('color:#c3c7cf"><span dir="auto">Line');
    expect(renderLayout(light, CONTENT)).toContain('color:#60646c"><span dir="auto">Line');
  });

  test('the name and links of a pale brand are readable', () => {
    const look = { ...FRAME.look, primaryColor: '#fde047', backgroundColor: '#fafafa' };
    const pale = renderLayout({ ...FRAME, look }, CONTENT);
    expect(pale).toContain('font-weight:600;color:#1c2024">Café');
    expect(pale).toContain('.usher-body a{color:#1c2024}');
    expect(pale).toContain('border-top:4px solid #fde047');
    const dark = renderLayout({ ...FRAME, look: { ...look, primaryColor: '#0f766e' } }, CONTENT);
    expect(dark).toContain('font-weight:600;color:#0f766e">Café');
    expect(dark).toContain('.usher-body a{color:#0f766e}');
    const night = { ...look, primaryColor: '#101820', backgroundColor: '#101010' };
    expect(renderLayout({ ...FRAME, look: night }, CONTENT)).toContain('font-weight:600;color:#ffffff">Café');
  });

  test.each(['#777777', '#767676', '#8a8a8a', '#ff0000', '#00a000', '#f4f5f7', '#000000'])(
    'the name and footer of a mail on %s have enough contrast',
    (backgroundColor) => {
      const look = { ...FRAME.look, primaryColor: backgroundColor, backgroundColor };
      const html = renderLayout({ ...FRAME, look }, CONTENT);
      const [, name = ''] = /font-weight:600;color:(#\w{6})">Café/.exec(html) ?? [];
      const [, footer = ''] = /class="usher-foot" style="[^"]*;color:(#\w{6})"/.exec(html) ?? [];
      expect(contrastOf(backgroundColor, name)).toBeGreaterThanOrEqual(3);
      expect(contrastOf(backgroundColor, footer)).toBeGreaterThanOrEqual(4.5);
    },
  );

  test("a mail's preheader is present and invisible", () => {
    expect(renderLayout(FRAME, { ...CONTENT, preheader: 'One <code>' })).toMatch(
      /<body[^>]*>\n<div style="display:none;[^"]*">One &lt;code&gt;<\/div>/,
    );
    expect(renderLayout(FRAME, CONTENT)).not.toContain('display:none');
  });

  test('an optional mail ends with an unsubscribe link in its language', () => {
    const unsubscribeUrl = 'https://usher.example.com/u?token=1.2&x="y"';
    const link =
      /<a dir="auto" href="https:\/\/usher\.example\.com\/u\?token=1\.2&amp;x=&quot;y&quot;"[^>]*>([^<]+)<\/a>/;
    expect(link.exec(renderLayout(FRAME, { ...CONTENT, unsubscribeUrl }))?.[1]).toBe(
      'Stop receiving e-mails of this kind',
    );
    expect(link.exec(renderLayout(FRAME, { ...CONTENT, unsubscribeUrl, locale: 'cs' }))?.[1]).toMatch(/^Už nechci/);
    expect(link.exec(renderLayout(FRAME, { ...CONTENT, unsubscribeUrl, locale: 'de-at' }))?.[1]).toMatch(/^Keine/);
    expect(renderLayout(FRAME, CONTENT)).not.toContain('<a ');
  });

  test('a logo keeps its background in dark mode', () => {
    const look = { ...FRAME.look, logoUrl: 'https://cdn.example.com/l.png' };
    const [, dark] = renderLayout({ ...FRAME, look }, CONTENT).split('prefers-color-scheme:dark');
    expect(dark).toMatch(/\.usher-logo\{[^}]*background:#101010!important\}/);
  });

  test('only colors get into a style', () => {
    const look = { ...FRAME.look, primaryColor: 'red;background:url(https://evil.example.com)' };
    expect(renderLayout({ ...FRAME, look }, CONTENT)).not.toContain('evil');
  });

  test("a mail follows the reader's dark mode and the direction of the language", () => {
    expect(renderLayout(FRAME, CONTENT)).toContain('prefers-color-scheme:dark');
    expect(renderLayout(FRAME, { ...CONTENT, locale: 'ar' })).toContain('<html lang="ar" dir="rtl">');
    expect([directionOf('he'), directionOf('fa-ir'), directionOf('cs'), directionOf('pt-br')]).toEqual([
      'rtl',
      'rtl',
      'ltr',
      'ltr',
    ]);
  });

  test('the plain text has link and footer where they exist', () => {
    const button = { text: 'Open', url: 'https://idp.example.com/x' };
    expect(renderText(FRAME, { text: ' Hello \n', button, locale: 'en' })).toBe(
      'Hello\n\nOpen:\nhttps://idp.example.com/x\n\n--\nLine <1>\nLine 2\n',
    );
    expect(renderText({ ...FRAME, look: { ...FRAME.look, footerText: null } }, { text: 'Hello', locale: 'en' })).toBe(
      'Hello\n',
    );
    const unsubscribeUrl = 'https://usher.example.com/u?token=1&x=2';
    expect(renderText(FRAME, { text: 'Hello', locale: 'cs', unsubscribeUrl })).toMatch(
      /\n\nUž nechci dostávat e-maily tohoto druhu:\nhttps:\/\/usher\.example\.com\/u\?token=1&x=2\n$/,
    );
  });
});
