import { afterAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { Renderer, type TemplateSource } from '../../src/notifications/render.ts';

const renderer = new Renderer(systemClock, 1);
const inPrague = new Renderer(systemClock, 1, 'Europe/Prague');
afterAll(() => {
  renderer.close();
  inPrague.close();
});

function template(parts: Partial<TemplateSource>): TemplateSource {
  return { subject: 'S', html: '<p>H</p>', text: null, pushTitle: null, pushBody: null, url: null, ...parts };
}

async function rendered(
  parts: Partial<TemplateSource>,
  payload: Record<string, unknown> = {},
  variables: Record<string, unknown> = {},
  by = renderer,
) {
  const [outcome] = await by.render([{ template: template(parts), variables, payload }]);
  if (!outcome?.ok) throw new Error(outcome?.problem);
  return outcome.rendered;
}

describe('filters that escape', () => {
  const m = `<b>Ann's</b> & "Co"\nLine`;
  const escaped = '&lt;b&gt;Ann&#39;s&lt;/b&gt; &amp; &#34;Co&#34;\nLine';
  const withBreaks = escaped.replace('\n', '<br />\n');

  test.each([
    ['{{ m }}', escaped],
    ['{{ m | escape }}', escaped],
    ['{{ m | xml_escape }}', escaped],
    ['{{ m | escape_once }}', escaped],
    ['{{ m | escape | escape_once }}', escaped],
    ['{{ m | escape | escape }}', escaped],
    ['{{ m | newline_to_br }}', withBreaks],
    ['{{ m | escape | newline_to_br }}', withBreaks],
    ['{{ m | newline_to_br | escape }}', withBreaks],
    ['{{ m | newline_to_br | default: "none" }}', withBreaks],
    ['{{ nothing | escape | default: "<none>" }}', '&lt;none&gt;'],
    ['{% assign x = m | newline_to_br %}{{ x }}', withBreaks],
    ['{% echo m %}', escaped],
    ['{% echo m | escape %}', escaped],
    ['{% echo m | raw %}', m],
    ['{% echo %}', ''],
    ['{% liquid\n assign x = m | newline_to_br\n echo x %}', withBreaks],
    // What is captured is HTML: its outputs have been escaped.
    ['{% capture x %}<i>{{ m }}</i>{% endcapture %}{{ x }}', `<i>${escaped}</i>`],
    ['{% capture x %}<i>{{ m | newline_to_br }}</i>{% endcapture %}{% echo x %}', `<i>${withBreaks}</i>`],
    ['{% capture x %}<i>{% endcapture %}{{ x | raw }}{{ x | append: "" }}{{ x.size }}', '<i>&lt;i&gt;3'],
    ['{% capture x %}a{% endcapture %}{% if x == "a" and x contains "a" %}{{ x }}{% endif %}', 'a'],
    ['{% capture x %}{% endcapture %}{{ x | default: "<none>" }}', '&lt;none&gt;'],
    ['{{ entity | escape_once }}', '&lt;i&gt; &amp;'],
    ['{{ entity | escape }}', '&amp;lt;i&amp;gt; &amp;'],
    ['{{ m | url_encode }}', '%3Cb%3EAnn%27s%3C%2Fb%3E+%26+%22Co%22%0ALine'],
    // The result of any other filter is a text again.
    ['{{ m | escape | upcase }}', escaped.toUpperCase().replaceAll('&', '&amp;')],
    ['{{ m | escape | size }}', String(escaped.length)],
    ['{{ m | raw }}', m],
  ])('%s in HTML', async (html, expected) => {
    expect((await rendered({ html }, { m, entity: '&lt;i&gt; &' })).html).toBe(expected);
  });

  test('elsewhere they are the filters of the library', async () => {
    const source = '{{ m | escape }} {{ m | newline_to_br }} {{ n | url_encode }}';
    const { text, subject, pushBody } = await rendered(
      { subject: source, text: source, pushBody: source },
      { m: '<a>\n', n: "'" },
    );
    expect(text).toBe("&lt;a&gt;\n <a><br />\n '");
    expect([subject, pushBody]).toEqual(["&lt;a&gt;  <a><br />  '", text]);
  });

  test('a payload never becomes markup, by any chain of filters', async () => {
    const FILTERS = [
      'escape',
      'newline_to_br',
      'escape_once',
      'url_encode',
      'xml_escape',
      'cgi_escape',
      'uri_escape',

      'upcase',
      'downcase',
      'capitalize',
      'strip',
      'lstrip',
      'strip_newlines',
      'strip_html',
      'url_decode',
      'reverse',

      'append: m',
      'prepend: m',
      'replace: "&lt;", "<"',
      'replace: "a", m',
      'remove: "amp;"',
      'truncate: 12',
      'slice: 1, 20',

      'default: m',
      'split: "" | join: ""',
      'split: "&" | last',
      'json',
      'date: m',
      'date',
      'concat: list | join: m',
      'size',
      'first',
      'last',
      'at_least: 1',
      'slugify: "raw"',
      'normalize_whitespace',
      'array_to_sentence_string',
    ];
    const PAYLOADS = [
      `<img src=x onerror=alert(1)>`,
      `"><svg onload=alert(1)>`,
      `' onmouseover='alert(1)`,
      '&lt;script&gt;\n&#60;b&#62;',
      '%3Cb%3E%27%22',
      '<br />\n<br/>',
      '&amp;lt;i&amp;gt; now',
      '{{ m }} {% raw %}<u>',
    ];
    let state = 23;
    const next = (below: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const chains = Array.from({ length: process.env.USHER_LONG === undefined ? 400 : 20_000 }, () =>
      Array.from({ length: 1 + next(4) }, () => FILTERS[next(FILTERS.length)]).join(' | '),
    );
    const faults: string[] = [];
    for (const [at, chain] of chains.entries()) {
      const value = PAYLOADS[at % PAYLOADS.length];
      const outputs = [
        `{% assign v = m | ${chain} %}{{ v }}`,
        `{{ m | ${chain} }}`,
        `{% echo m | ${chain} %}`,
        `{% capture v %}{{ m }}{% endcapture %}{{ v | ${chain} }}`,
      ];
      const output = outputs[at % outputs.length];
      const [outcome] = await renderer.render([
        {
          template: template({ html: `[[${output}]]` }),
          variables: {},
          payload: { m: value, list: [value, { valueOf: value }] },
        },
      ]);
      // A filter may refuse what it is given.
      if (!outcome?.ok) continue;
      const shown = outcome.rendered.html.slice(2, -2).replaceAll('<br />', '');
      if (/[<>"']/.test(shown)) faults.push(`${chain} of ${value}: ${shown}`);
    }
    expect(faults).toEqual([]);
  });
});

describe('dates', () => {
  const at = '2026-11-28T23:30:05Z';
  const of = async (html: string, variables: Record<string, unknown>, by = renderer) =>
    (await rendered({ html, subject: html }, { at, day: '2026-11-28' }, variables, by)).subject;

  test.each([
    ['{{ at | date: "%A %-d. %B %Y, %b %a" }}', 'en', 'Saturday 28. November 2026, Nov Sat'],
    ['{{ at | date: "%A %-d. %B %Y" }}', 'cs', 'sobota 28. listopadu 2026'],
    ['{{ at | date: "%B %Y" }}', 'cs', 'listopad 2026'],
    ['{{ at | date: "%-d. %OB" }}', 'cs', '28. listopad'],
    ['{{ at | date: "%^B" }}', 'cs', 'LISTOPAD'],
    ['{{ at | date: "%A, %d. %B" }}', 'de', 'Samstag, 28. November'],
    ['{{ at | date: "%x" }}', 'de', '28.11.2026'],
    ['{{ at | date: "%c" }}', 'de', '28.11.2026, 23:30:05'],
    ['{{ at | date: "%x %X %%" }}', 'fr', '28/11/2026 23:30:05 %'],
    ['{{ at | date: "%c" }}', 'en', '11/28/2026, 11:30:05 PM'],
    ['{{ at | date: "%B" }}', 'zh-hant', '11月'],
    ['{{ at | date: "%B" }}', 'no-such-language-of-all', 'November'],
    ['{{ at | date_to_string }}', 'cs', '28 lis 2026'],
    ['{{ at | date_to_long_string }}', 'cs', '28 listopadu 2026'],
    ['{{ at | date_to_long_string: "ordinal", "US" }}', 'en', 'November 28th, 2026'],
    ['{{ at | date_to_long_string: "ordinal" }}', 'en', '28th November 2026'],
    ['{{ "no date" | date_to_long_string }}{{ nothing | date_to_long_string }}', 'en', 'no date'],
    ['{{ at | date }}', 'cs', 'sobota, listopadu 28, 2026 at 11:30 pm +0000'],
  ])('%s in %s is %s', async (source, locale, expected) => {
    // Some versions of ICU put narrow spaces before the part of the day.
    expect((await of(source, { locale })).replace(/\u202f/g, ' ')).toBe(expected);
  });

  const HOUR = '{{ at | date: "%Y-%m-%d %H:%M %z" }}';
  test.each([
    ["the reader's zone", HOUR, { user: { timezone: 'Asia/Tokyo' } }, '2026-11-29 08:30 +0900'],
    ['none of the reader', HOUR, { user: { timezone: null } }, '2026-11-28 23:30 +0000'],
    ['none at all', HOUR, {}, '2026-11-28 23:30 +0000'],
    ['an unknown one', HOUR, { user: { timezone: 'Nowhere/Land' } }, '2026-11-28 23:30 +0000'],
    [
      'its own',
      '{{ at | date: "%H:%M %x", "America/New_York" }}',
      { user: { timezone: 'Asia/Tokyo' }, locale: 'de' },
      '18:30 28.11.2026',
    ],
    [
      'a day without a time',
      '{{ day | date: "%Y-%m-%d %x" }} {{ day | date_to_string }}',
      { user: { timezone: 'America/New_York' } },
      '2026-11-28 11/28/2026 28 Nov 2026',
    ],
    ['a day far east', '{{ day | date: "%d" }}', { user: { timezone: 'Pacific/Kiritimati' } }, '28'],
  ])('a date is written in %s', async (_, source, variables, expected) => {
    expect(await of(source, { locale: 'en', ...variables })).toBe(expected);
  });

  test('readers without a zone get the configured one', async () => {
    expect(await of('{{ at | date: "%H:%M" }}', {}, inPrague)).toBe('00:30');
    expect(await of('{{ at | date: "%H:%M" }}', { user: { timezone: 'UTC' } }, inPrague)).toBe('23:30');
    // Every hour of a night on which the clock of Prague goes forward, and of the one on which it goes back.
    for (const night of ['2026-03-29', '2026-10-25']) {
      for (let hour = 0; hour < 6; hour++) {
        const instant = `${night}T0${hour}:30:00Z`;
        const { subject } = await rendered({ subject: '{{ instant | date: "%H:%M" }}' }, { instant }, {}, inPrague);
        expect(subject).toBe(
          new Date(instant).toLocaleTimeString('en-GB', { timeZone: 'Europe/Prague', timeStyle: 'short' }),
        );
      }
    }
  });
});

describe('text made from HTML', () => {
  test.each([
    ['<table><tr><td>1</td><td>2.50</td></tr><tr><td>Tea</td><td>3</td></tr></table>', '1 2.50\nTea 3'],
    [
      '<table><thead><tr><th>Item</th><th>Price</th></tr></thead><tbody><tr><td> Tea </td>\n<td>3</td></tr></tbody></table>',
      'Item Price\nTea 3',
    ],
    ['<p>A</p><table><caption>Bill</caption><tr><td>1</td></tr></table><p>B</p>', 'A\n\nBill\n1\n\nB'],
    ['<dl><dt>Name</dt><dd>Ann</dd><dt>Age</dt><dd>7</dd></dl>', 'Name\nAnn\nAge\n7'],
    ['<table><tr><td><table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table></td></tr></table>', 'a b\nc'],
    ['<table><tr><td><p>One</p><p>Two</p></td></tr></table>', 'One\n\nTwo'],
  ])('%s', async (html, expected) => {
    expect((await rendered({ html })).text.trim()).toBe(expected);
  });
});

describe('the faults of a template', () => {
  test('are told all at once, each where it stands', async () => {
    const html = [
      '{{ a | nope }} and {{ b | size | wrong | nope }}',
      '{% if a === %}x{% else %}{{ c | nope }}{% endif %}',
      '{% for i of list %}{% endfor %}{% nothing %}',
      '{% endcase %}',
      '{% unless x %}open',
      '{{ d',
    ].join('\n');
    const faults = await renderer.check(template({ subject: '{{ s | nope }}', html, text: '{% include "x" %}' }));
    expect(faults.map(({ field, line, column, message }) => `${field} ${line}:${column} ${message}`)).toEqual([
      'subject 1:1 undefined filter: nope',
      'html 1:1 undefined filter: nope',
      'html 1:20 undefined filter: wrong',
      'html 1:20 undefined filter: nope',
      'html 2:12 expected "|" before filter',
      'html 2:26 undefined filter: nope',
      'html 3:1 illegal tag: {% for i of list %}',
      'html 3:32 tag "nothing" not found',
      'html 4:1 tag "endcase" not found',
      'html 5:1 tag {% unless x %} not closed',
      'html 6:1 output "{{ d" not closed',
      'text 1:1 tag "include" not found',
    ]);
  });

  test('of a long or hostile part are found within the time for a job', async () => {
    for (const html of [
      '{{ a | nope }}'.repeat(10_000),
      '{{'.repeat(100_000),
      '{% if x %}'.repeat(10_000),
      '{% if a === %}'.repeat(5000),
    ]) {
      const faults = await renderer.check(template({ html }));
      expect(faults.length).toBeGreaterThan(0);
      expect(faults.length).toBeLessThanOrEqual(20);
    }
  });
});
