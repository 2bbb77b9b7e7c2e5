import { afterAll, describe, expect, test } from '@jest/globals';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { CLOCK_MS } from '../../src/notifications/render/process.ts';
import { Renderer, type TemplateSource } from '../../src/notifications/render.ts';

const renderer = new Renderer(systemClock, 2);
afterAll(() => renderer.close());

function template(parts: Partial<TemplateSource>): TemplateSource {
  return { subject: 'S', html: '<p>H</p>', text: null, pushTitle: null, pushBody: null, url: null, ...parts };
}

async function rendered(parts: Partial<TemplateSource>, variables: Record<string, unknown> = {}, payload = {}) {
  const [outcome] = await renderer.render([{ template: template(parts), variables, payload }]);
  if (!outcome?.ok) throw new Error(outcome?.problem);
  return outcome.rendered;
}

/** The longest time that the event loop was held while `work` was under way, in milliseconds. */
async function held(work: Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last - 5);
    last = performance.now();
  }, 5);
  await work;
  clearInterval(timer);
  return longest;
}

describe('calls of render that end early', () => {
  // Far below the limit of a template's time also on a slow machine: what exceeds it is not charged.
  const slow = '{% for i in (1..3000) %}{% assign x = i | times: 2 | plus: 1 %}{% endfor %}';
  const jobs = (count: number, html: string) =>
    Array.from({ length: count }, (_, n) => ({ template: template({ html }), variables: { n } }));

  test('a call of render ends when `charge` throws, and the next call is served', async () => {
    const own = new Renderer(systemClock, 1);
    const charged: number[] = [];
    const charge = (bytes: number): void => {
      charged.push(bytes);
      if (charged.length === 3) throw new Error('that is enough');
    };
    await expect(own.render(jobs(1000, 'a'), 'lane', { charge })).rejects.toThrow('that is enough');
    const [outcome] = await own.render(jobs(1, 'b'), 'lane');
    if (!outcome?.ok) throw new Error('it was not rendered');
    expect(outcome.bytes).toBe(Buffer.byteLength(JSON.stringify(outcome.rendered)));
    expect(charged).toHaveLength(3);
    own.close();
  });

  test('a call of render ends with its signal, before its start and during it', async () => {
    const own = new Renderer(systemClock, 1);
    const reason = new Error('nobody waits');
    await expect(own.render(jobs(1, 'a'), '', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const gone = new AbortController();
    let rendered = 0;
    const charge = (): void => {
      if (++rendered === 2) gone.abort(reason);
    };
    const ended = own.render(jobs(300, slow), '', { signal: gone.signal, charge });
    const other = own.render(jobs(1, 'b'), 'another lane');
    await expect(ended).rejects.toBe(reason);
    expect((await other)[0]?.ok).toBe(true);
    expect(rendered).toBe(2);
    own.close();
  });

  test('text made from HTML, push bodies and URLs are bounded', async () => {
    const [long] = await renderer.render([{ template: template({ html: '<hr>'.repeat(40_000) }), variables: {} }]);
    expect(long).toMatchObject({ ok: true });
    const rules = `<ul>${`<li>${'<hr>'.repeat(5000)}</li>`.repeat(7)}</ul>`;
    const [outcome] = await renderer.render([{ template: template({ html: rules }), variables: {} }]);
    expect(outcome).toMatchObject({ ok: false, problem: expect.stringContaining('text') });
    const { pushBody, url } = await rendered({ pushBody: 'p'.repeat(500_000), url: `/${'u'.repeat(500_000)}` });
    expect([pushBody?.length, url]).toEqual([32 * 1024, null]);
  });
});

describe('templates', () => {
  test('templates escape in HTML, and nowhere else', async () => {
    const value = `<b>"Tom" & 'Jerry'</b>`;
    const all = {
      subject: '{{ v }}',
      html: '<p>{{ v }}</p>',
      text: '{{ v }}',
      pushTitle: '{{ v }}',
      pushBody: '{{ v }}',
    };
    expect(await rendered(all, {}, { v: value })).toMatchObject({
      subject: value,
      html: '<p>&lt;b&gt;&#34;Tom&#34; &amp; &#39;Jerry&#39;&lt;/b&gt;</p>',
      text: value,
      pushTitle: value,
      pushBody: value,
      url: null,
    });
  });

  test('the payload is at the top and in `payload`, and reserved variables override it', async () => {
    const html = '{{ n }}|{{ payload.n }}|{{ user.email }}|{{ payload.user }}|{{ locale }}|{{ missing.deep }}';
    const variables = { user: { email: 'ann@example.com' }, locale: 'cs' };
    const payload = { n: 7, user: 'forged', locale: 'xx' };
    expect((await rendered({ html }, variables, payload)).html).toBe('7|7|ann@example.com|forged|cs|');
  });

  test('members of prototypes are invisible to templates', async () => {
    const html =
      '{{ constructor }}{{ v.constructor }}{{ __proto__ }}{{ v.__proto__ }}{{ v.toString }}{{ payload.hasOwnProperty }}';
    expect((await rendered({ html }, {}, { v: {} })).html).toBe('');
    const own = await rendered({ html: '{{ v.constructor }}' }, {}, { v: { constructor: 'mine' } });
    expect(own.html).toBe('mine');
  });

  test('a subject is one line, whatever its values contain', async () => {
    const { subject, pushTitle } = await rendered(
      { subject: 'A {{ v }}\n', pushTitle: '{{ v }}' },
      {},
      { v: 'x\r\nBcc: all@example.com\0\u2028y' },
    );
    expect(subject).toBe('A x Bcc: all@example.com y');
    expect(pushTitle).toBe('x Bcc: all@example.com y');
    expect((await rendered({ subject: '{{ v }}' }, {}, { v: '\u{1f600}'.repeat(400) })).subject.isWellFormed()).toBe(
      true,
    );
  });

  test('a missing text is made from the HTML', async () => {
    const html =
      '<h1>Hello {{ name }}</h1><p>One<br>two &amp; <a href="https://example.com/x">here</a></p><img src="x"><script>no()</script>';
    const { text } = await rendered({ html }, {}, { name: 'Ann' });
    expect(text).toBe('Hello Ann\n\nOne\ntwo & here [https://example.com/x]');
  });

  test('faults of templates have field, line and column', async () => {
    const faults = await renderer.check(
      template({
        subject: '{{ a',
        html: 'ok\n  {% if a %}',
        text: '{% nope %}',
        pushBody: '{{ a | nofilter }}',
        url: 'fine',
      }),
    );
    expect(faults).toMatchObject([
      { field: 'subject', line: 1, column: 1 },
      { field: 'html', line: 2, column: 3 },
      { field: 'text', line: 1, column: 1, message: 'tag "nope" not found' },
      { field: 'pushBody', line: 1 },
    ]);
    expect(await renderer.check(template({ html: '{% for x in y %}{{ x | upcase }}{% endfor %}' }))).toEqual([]);
  });

  test.each(['{% include "x" %}', '{% render "/etc/passwd" %}', '{% layout "x" %}', '{% block a %}{% endblock %}'])(
    '%s reads nothing, because it does not parse',
    async (html) => {
      expect((await renderer.check(template({ html })))[0]).toMatchObject({ field: 'html', line: 1, column: 1 });
    },
  );

  test('a thousand renderings of one template come back in order, quickly', async () => {
    const one = template({
      subject: '{{ user.email }}',
      html: '<p>Dear {{ user.email }}, {{ n }}</p>',
      pushBody: '{{ n }}',
    });
    const payload = { n: 'x'.repeat(1000) };
    const jobs = Array.from({ length: 1000 }, (_, i) => ({
      template: one,
      payload,
      variables: { user: { email: `u${i}` } },
    }));
    await renderer.render(jobs);
    const from = performance.now();
    const outcomes = await renderer.render(jobs);
    const took = performance.now() - from;
    expect(outcomes.map((outcome) => outcome.ok && outcome.rendered.subject)).toEqual(jobs.map((_, i) => `u${i}`));
    expect(took).toBeLessThan(10_000);
  });
});

describe('hostile templates', () => {
  const loop = '{% for i in (1..99999) %}{% for j in (1..99999) %}{{ i }}{% endfor %}{% endfor %}';
  const hostile: [string, string][] = [
    ['loops for ever', loop],
    ['asks for a huge range', '{% for i in (1..2000000000) %}{% endfor %}'],
    [
      'doubles a text',
      '{% assign s = "aaaaaaaaaa" %}{% for i in (1..40) %}{% assign s = s | append: s %}{% endfor %}{{ s | upcase | size }}',
    ],
    [
      'replaces with itself',
      '{% assign s = "aaaaaaaaaa" %}{% for i in (1..18) %}{% assign s = s | append: s %}{% endfor %}{{ s | replace: "a", s | size }}',
    ],
    [
      'captures without end',
      '{% capture x %}{% for i in (1..100000) %}{{ i }}aaaaaaaaaaaaaaa{% endfor %}{% endcapture %}{% for i in (1..100000) %}{{ x }}{% endfor %}',
    ],
    ['writes more than a mail', '{% for i in (1..100000) %}aaaaaaaaaaaaaaaaaaaaaaaaa{% endfor %}'],
    ['backtracks', `{{ "${'a'.repeat(50_000)}<" | strip_html | size }}${'{{ "<" | strip_html }}'.repeat(20)}`],
  ];
  test.each(hostile)('a hostile template that %s is killed, and the event loop continues', async (what, html) => {
    const from = performance.now();
    const work = renderer.render([{ template: template({ html }), variables: {} }]);
    const longest = await held(work);
    const [outcome] = await work;
    if (what !== 'backtracks') expect(outcome).toMatchObject({ ok: false, problem: expect.stringMatching(/\w/) });
    expect(performance.now() - from).toBeLessThan(5000);
    expect(longest).toBeLessThan(200);
    expect((await rendered({ html: 'still {{ v }}' }, {}, { v: 'here' })).html).toBe('still here');
  });

  test("a rendering process that hangs or grows is killed, independent of the library's limits", async () => {
    // A payload can hold what no limit of the library counts: here the array of a million that a filter walks again and again.
    const payload = { list: Array.from({ length: 3000 }, (_, i) => ({ n: i % 7 })) };
    const html = `{{ list | sort: "n" | uniq: "n" | size }}${'{% assign l = list | sort: "n" | reverse %}'.repeat(4000)}`;
    const [outcome] = await renderer.render([{ template: template({ html }), payload, variables: {} }]);
    expect(outcome?.ok).toBe(false);
    expect((await rendered({ html: 'x' })).html).toBe('x');
  });

  test('a template that ends its process ends nothing else, and is reported as such', async () => {
    // More than the heap of a process, in one value: the library has no say in it.
    const payload = { list: Array.from({ length: 150 }, (_, n) => `${n}`.padEnd(1_000_000, 'x')) };
    const [outcome] = await renderer.render([{ template: template({}), payload, variables: {} }]);
    expect(outcome).toEqual({ ok: false, problem: expect.stringMatching(/^it takes too (much memory|long)$/) });
    expect((await rendered({ html: 'x' })).html).toBe('x');
  });

  test('endlessly nested HTML becomes text, or fails', async () => {
    const html = '<div><b>'.repeat(60_000);
    const from = performance.now();
    const [outcome] = await renderer.render([{ template: template({ html }), variables: {} }]);
    expect(typeof outcome?.ok).toBe('boolean');
    expect(performance.now() - from).toBeLessThan(10_000);
    expect((await rendered({ html: 'x' })).html).toBe('x');
  });

  test('a hostile template in a batch fails once with all its jobs, and the others are rendered', async () => {
    const [bad, good] = [template({ html: loop }), template({ html: '{{ n }}' })];
    const jobs = Array.from({ length: 300 }, (_, n) => ({ template: n % 3 === 1 ? bad : good, variables: { n } }));
    const from = performance.now();
    const outcomes = await renderer.render(jobs);
    expect(outcomes.map((outcome) => outcome.ok)).toEqual(jobs.map((_, n) => n % 3 !== 1));
    expect(performance.now() - from).toBeLessThan(30_000);
  });

  // The clock runs ahead of the processor, as it does for a process that has to share it with many; but not while it starts.
  const hurried = (monotonic: () => number): Clock => ({
    ...systemClock,
    monotonic,
    after: (ms, fn) => systemClock.after(ms > CLOCK_MS ? ms : ms / 50, fn),
  });

  test('the delay of a busy machine is not blamed on a template', async () => {
    const own = new Renderer(
      hurried(() => systemClock.monotonic()),
      1,
    );
    const html = '{% for i in (1..4000) %}{{ i }}{% endfor %}';
    const outcomes = await own.render(
      Array.from({ length: 5 }, () => ({ template: template({ html }), variables: {} })),
    );
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, true, true, true, true]);
    const [outcome] = await own.render([{ template: template({ html: loop }), variables: {} }]);
    expect(outcome).toEqual({ ok: false, problem: expect.stringContaining('limit exceeded') });
    own.close();
  });

  test('a rendering that gets no processor time fails without blame', async () => {
    const own = new Renderer(
      hurried(() => systemClock.monotonic() * 1000),
      1,
    );
    const work = own.render([{ template: template({ html: loop }), variables: {} }]);
    await expect(work).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    own.close();
  });

  test('one lane does not wait for another', async () => {
    const own = new Renderer(systemClock, 1);
    let done = 0;
    const bad = Array.from({ length: 4 }, async () => {
      const [outcome] = await own.render([{ template: template({ html: loop }), variables: {} }], 'theirs');
      done++;
      return outcome?.ok;
    });
    const [good] = await own.render([{ template: template({}), variables: {} }], 'ours');
    expect(good?.ok).toBe(true);
    expect(done).toBeLessThanOrEqual(2);
    expect(await Promise.all(bad)).toEqual(bad.map(() => false));
    own.close();
  });

  test('a lane has its share of places, and a job that waited too long is not started', async () => {
    let at = 0;
    const own = new Renderer({ ...systemClock, monotonic: () => at }, 1);
    const one = () => own.render([{ template: template({}), variables: {} }], 'theirs').then(() => 'rendered');
    const first = one();
    const waiting = Array.from({ length: 500 }, one);
    await expect(one()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const other = own.render([{ template: template({}), variables: {} }], 'ours');
    at = 30_000;
    const ended = await Promise.allSettled([...waiting, other]);
    expect(ended.every(({ status }) => status === 'rejected')).toBe(true);
    expect(await first).toBe('rendered');
    expect(await one()).toBe('rendered');
    own.close();
  });

  test('after close nothing is rendered, and no process remains', async () => {
    const own = new Renderer(systemClock, 1);
    const under = own.render([{ template: template({ html: loop }), variables: {} }]);
    own.close();
    await expect(under).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(own.check(template({}))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
