import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { systemClock } from '../../src/base/clock.ts';
import { marksWhereTextLooks, type Personal, type PersonalOutcome, renderEach } from '../../src/notifications/merge.ts';
import { Renderer, type RenderJob, type TemplateSource } from '../../src/notifications/render.ts';
import { readerOf, surroundingsOf } from '../../src/notifications/variables.ts';

const renderer = new Renderer(systemClock, 1);
afterAll(() => renderer.close());

function template(parts: Partial<TemplateSource>): TemplateSource {
  return { subject: 'S', html: '<p>H</p>', text: null, pushTitle: null, pushBody: null, url: null, ...parts };
}

const APP = { code: 'billing', name: 'Billing' };
const BRAND = { slug: 'a', name: 'A', primaryColor: null, logoUrl: null, footerText: null, id: 1, isDefault: true };

interface Person {
  firstName: string | null;
  lastName: string | null;
  displayName: string | null;
  locale: string | null;
  timezone: string | null;
}

function personal(source: TemplateSource, people: readonly Partial<Person>[], payload = {}): Personal[] {
  const shared = [BRAND, undefined].map((brand) => {
    return { template: source, payload, variables: surroundingsOf({ app: APP, brand, locale: 'en' }) };
  });
  return people.map((person, at) => {
    const known = { firstName: null, lastName: null, displayName: null, locale: null, timezone: null, ...person };
    return { shared: shared[at % 2] as RenderJob, user: readerOf({ email: `u${at}@example.com`, ...known }, 'en') };
  });
}

/** What is rendered for each, and how many renderings that took. */
async function counted(all: readonly Personal[]) {
  let jobs = 0;
  const counting = {
    printedMembers: (source: TemplateSource) => renderer.printedMembers(source),
    render: (batch: readonly RenderJob[]) => {
      jobs += batch.length;
      return renderer.render(batch);
    },
  };
  return { outcomes: filled(await renderEach(counting, all)), jobs };
}

/** As the renderer answers, with all that is to be told of them. */
function filled(outcomes: readonly PersonalOutcome[]) {
  return outcomes.map((one) => {
    if (!one.ok) return one;
    const rendered = one.rendered();
    const { subject, text, pushBody, url } = rendered;
    expect(one.subject).toBe(subject);
    expect(one.excerpt()).toEqual({ body: pushBody ?? text, url });
    expect(one.bytes).toBe(Buffer.byteLength(JSON.stringify(rendered)));
    return { ok: true, rendered, bytes: one.bytes };
  });
}

/** Rendered for each by itself. */
function oneByOne(all: readonly Personal[]) {
  return renderer.render(all.map(({ shared, user }) => ({ ...shared, variables: { ...shared.variables, user } })));
}

const PEOPLE: Partial<Person>[] = Array.from({ length: 30 }, (_, at) => ({
  firstName: at % 7 === 6 ? null : `Given${at}`,
  lastName: `Van der Name${at}`,
  displayName: at === 4 ? `<b>"O'Brien" & Söhne</b>` : `Řehoř ${at}`,
  locale: at % 3 === 0 ? 'cs' : null,
}));

describe('the members of `user` in a template', () => {
  test.each([
    ['nothing', { html: '{{ n }} user {{ brand.name }}<a class="user">' }, []],
    ['a name', { html: 'Dear {{ user.firstName }}' }, ['firstName']],
    [
      'in all parts',
      { subject: '{{user.email}}', html: '{{- user["lastName"] -}}', url: '/{{ user.displayName }}' },
      ['email', 'lastName', 'displayName'],
    ],
    ['with another word for it', { html: '{{ user.firstName | default: "friend" }}' }, ['firstName']],
    [
      'if it is there',
      { html: '{% if user.firstName %}Dear {{ user.firstName }}{% else %}Hello{% endif %}' },
      ['firstName'],
    ],
    ['in a loop', { html: '{% for l in lines %}{{ user.email }}{% endfor %}' }, ['email']],
    ['beside dates', { html: '{{ at | date: "%x" }}', text: '{{ user.email }}' }, ['email', 'timezone']],
    ['in a case', { html: '{% case n %}{% when 1 %}{{ user.locale }}{% endcase %}' }, ['locale']],
  ] as const)('the analysis finds that a template only outputs %s', async (_, parts, members) => {
    expect(await renderer.printedMembers(template(parts))).toEqual(members);
  });

  test.each([
    '{{ user }}',
    '{{ user.firstName | upcase }}',
    '{{ user.firstName | append: "x" }}',
    '{{ user.firstName | truncate: 3 }}',
    '{{ user.firstName | default: user.email }}',
    '{{ "x" | append: user.email }}',
    '{{ "}}" | append: user.email }}',
    '{{ user.firstName == "Ann" }}',
    '{% if user.firstName == "Ann" %}x{% endif %}',
    '{% if n %}x{% elsif user.locale == "cs" %}y{% endif %}',
    '{% unless user.firstName contains "n" %}x{% endunless %}',
    '{% case user.email %}{% when "u1@example.com" %}x{% endcase %}',
    '{% case n %}{% when user.email %}x{% endcase %}',
    '{% assign u = user %}{{ u.email }}',
    '{% assign e = user.email %}{{ e | size }}',
    '{% capture c %}{{ user.firstName }}{% endcapture %}{{ c | size }}',
    '{% for u in user %}{{ u }}{% endfor %}',
    '{% for l in lines limit: user.n %}{{ l }}{% endfor %}',
    '{{ user[k] }}',
    '{{ ["user"].email }}',
    '{{ ["\\u0075ser"].email }}',
    '{% assign k = "us" | append: "er" %}{{ [k].email }}',
    '{% if [k].email %}x{% endif %}',
    '{{ lines | where_exp: "l", "l == user.email" }}',
    '{{ lines | where_exp: "l", "l == us\\u0065r.email" }}',
    '{{ lines | sample }}',
    '{{ payload["user"] }}',
    '{% liquid\n echo user.email\n%}',
    '{% echo user.email %}',
    '{% cycle user.email, "b" %}',
    '{% tablerow x in lines %}{{ user.email }}{% endtablerow %}',
    '{% raw %}{{ user.email }}{% endraw %}',
    '{{ user.email.size }}',
    '{{ user.password }}',
    '{{ nope',
  ])('the analysis recognizes a template with other uses: %s', async (html) => {
    expect(await renderer.printedMembers(template({ html }))).toBeNull();
  });
});

describe('one rendering for many readers', () => {
  test('one rendering serves many recipients with their own names', async () => {
    const source = template({
      subject: 'Invoice {{ n }} for {{ user.firstName | default: "you" }}',
      html: '<h1>Dear {{ user.firstName }}  {{ user.lastName }},</h1><p>{{ user.email }} & {{ brand.name }}: {{ n }}</p>',
      pushBody: '{{ user.displayName }}, {{ n }}',
      url: 'https://example.com/{{ user.email }}',
    });
    const all = personal(source, PEOPLE, { n: 7 });
    const { outcomes, jobs } = await counted(all);
    expect(outcomes).toEqual(await oneByOne(all));
    // Two brands, with and without a first name, and one name that has to be escaped.
    expect(jobs).toBe(5);
    const text = JSON.stringify(outcomes);
    expect(text).not.toMatch(/Zq[0-9a-f]{8}/);
    for (const [at, outcome] of outcomes.entries()) {
      const said = JSON.stringify(outcome);
      expect(said).toContain(`u${at}@example.com`);
      for (const other of all.keys()) if (other !== at) expect(said).not.toContain(`u${other}@example.com`);
    }
  });

  test('a template that writes dates is rendered once per brand and time zone', async () => {
    const zones = [null, 'Europe/Prague', 'Asia/Tokyo', 'Pacific/Auckland'];
    const people = Array.from({ length: 32 }, (_, at) => ({ ...PEOPLE[at % 30], timezone: zones[at >> 3] ?? null }));
    const source = template({ html: '{{ user.email }}: {{ at | date: "%A %H:%M" }}' });
    const all = personal(source, people, { at: '2026-11-28T23:30:00Z' });
    const { outcomes, jobs } = await counted(all);
    expect(jobs).toBe(2 * zones.length);
    expect(outcomes).toEqual(await oneByOne(all));
    expect(JSON.stringify(outcomes[31])).toContain('u31@example.com: Sunday 12:30');
  });

  test('a template without names is rendered once per brand', async () => {
    const all = personal(template({ html: '<p>{{ n }} {{ brand.name }}</p>' }), PEOPLE, { n: 7 });
    const { outcomes, jobs } = await counted(all);
    expect(jobs).toBe(2);
    expect(outcomes).toEqual(await oneByOne(all));
  });

  test('a template that computes with names, or links them, is rendered for each recipient', async () => {
    for (const html of ['<p>{{ user.firstName | upcase }}</p>', '<p><a href="/{{ user.email }}">x</a></p>']) {
      const all = personal(template({ html }), PEOPLE);
      const { outcomes, jobs } = await counted(all);
      expect(jobs).toBeGreaterThanOrEqual(all.length);
      expect(outcomes).toEqual(await oneByOne(all));
    }
  });

  test.each([
    ['', false],
    ['<p>Dear ', false],
    ['<a', true],
    ['<a href="x">', true],
    ['<A\n>t', true],
    ['<a>t</a>', false],
    ['<a>t</a >', false],
    ['<a>t</a', true],
    ['<abbr>t', false],
    ['<i title="', true],
    ['<!-- ', true],
    ['a < b', true],
    ['a > b', false],
    ['&', true],
    ['&#x', true],
    ['&amp;', false],
    ['& ', false],
  ])('a name after %j changes the conversion to plain text: %p', (before, looks) => {
    expect(marksWhereTextLooks([before, 'MARK', ' after'])).toBe(looks);
    expect(marksWhereTextLooks(['x', 'MARK', before])).toBe(false);
  });

  test('a template is analyzed once, whatever its content', async () => {
    for (const piece of ['<a', '<a>', '</a', '<a </a', '&', '&#', '<', '<a b="', ' \n']) {
      const html = `{{ user.firstName }}${piece.repeat(Math.floor(250_000 / piece.length))}`;
      const { user, system } = process.threadCpuUsage();
      marksWhereTextLooks(['', 'MARK', html]);
      const used = process.threadCpuUsage();
      // It takes one or two milliseconds; the expression that did this took 30 seconds for the first of these.
      expect(used.user + used.system - user - system).toBeLessThan(500_000);
    }
    const all = personal(template({ html: `<p>{{ user.email }}</p>${'<a'.repeat(60_000)}` }), PEOPLE);
    let held = 0;
    let last = process.threadCpuUsage();
    const timer = setInterval(() => {
      const now = process.threadCpuUsage();
      held = Math.max(held, now.user + now.system - last.user - last.system);
      last = now;
    }, 1);
    await renderEach(renderer, all);
    clearInterval(timer);
    expect(held).toBeLessThan(1_000_000);
  }, 60_000);

  test('a template that fails for one recipient fails for all', async () => {
    const all = personal(template({ html: '{{ user.email }}{% for i in (1..99999999) %}{{ i }}{% endfor %}' }), PEOPLE);
    const { outcomes } = await counted(all);
    expect(outcomes.every(({ ok }) => !ok)).toBe(true);
  });

  test('merged texts equal a rendering for each recipient, for any template and names', async () => {
    const member = fc.constantFrom('email', 'firstName', 'lastName', 'displayName', 'locale');
    const piece = fc.oneof(
      member.map((name) => `{{ user.${name} }}`),
      member.map((name) => `{{user.${name} | default: "d"}}`),
      member.map((name) => `{% if user.${name} %}a {{ user.email }}{% else %}b{% endif %}`),
      member.map((name) => `{{ user.${name} | upcase }}`),
      member.map((name) => `<a href="/{{ user.${name} }}">t</a>`),
      member.map((name) => `<a href='x'>{{ user.${name} }}</a>`),
      member.map((name) => `<!-- {{ user.${name} }} -->&{{ user.${name} }};<i title={{ user.${name} }}>`),
      fc.constantFrom(
        ' ',
        '\n',
        '<p>',
        '</p>',
        '<br>',
        '<pre>',
        '</pre>',
        '<li>',
        '&amp;',
        '{{ n }}',
        '<',
        '>',
        'x',
        '  ',
      ),
    );
    const source = fc.array(piece, { maxLength: 8 }).map((parts) => parts.join(''));
    const name = fc.option(
      fc.oneof(
        fc.constantFrom(
          '',
          'Ann',
          'Anna Marie',
          ' x',
          'x ',
          'a  b',
          "O'Brien",
          '<b>',
          'J. R.',
          'lt',
          'amp',
          'a-',
          '\u00a0x',
          'x\n',
        ),
        fc.string({ maxLength: 8, unit: 'grapheme' }),
      ),
    );
    const person = fc.record({
      firstName: name,
      lastName: name,
      displayName: name,
      locale: fc.option(fc.constant('cs')),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          subject: source,
          html: source,
          text: fc.option(source),
          pushBody: fc.option(source),
          url: fc.option(source),
        }),
        fc.array(person, { minLength: 8, maxLength: 12 }),
        async (parts, people) => {
          const all = personal(template(parts), people, { n: 7 });
          expect(filled(await renderEach(renderer, all))).toEqual(await oneByOne(all));
        },
      ),
      { numRuns: 60 },
    );
  }, 60_000);
});
