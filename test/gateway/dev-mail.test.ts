import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { Mailbox } from '../../src/delivery/mailbox.ts';
import type { ComposedMail } from '../../src/delivery/message.ts';
import { mailPage, relative } from '../../src/gateway/pages/mailbox.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const HOSTILE = `</title></textarea><script>alert(1)</script><img src=x onerror=alert(1)>"'`;

const mail = (parts: Partial<ComposedMail>): ComposedMail => ({
  from: { address: 'no-reply@example.com', name: 'Atelier' },
  to: 'ann@example.com',
  subject: 'Hello',
  html: '<!doctype html>\n<html><head></head><body><a href="https://example.com/">There</a></body></html>',
  text: 'There',
  messageId: '<1@example.com>',
  headers: {},
  ...parts,
});

describe('the development mailbox', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let hostile: string;

  beforeAll(async () => {
    storage = await createStorage('pglite');
    usher = await startUsher(storage);
    const mailbox = new Mailbox(storage.dataDir, systemClock);
    await mailbox.keep(mail({ subject: 'Invoice 7', to: 'ben@example.com' }));
    await mailbox.keep(mail({ subject: 'PROJECT is ready', to: 'clara@example.com' }));
    hostile = await mailbox.keep(
      mail({
        subject: HOSTILE,
        from: { address: 'no-reply@example.com', name: HOSTILE },
        html: `<!doctype html><html><head><title>x</title></head><body>${HOSTILE}</body></html>`,
        text: HOSTILE,
        headers: { 'X-Hostile': HOSTILE },
      }),
    );
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  });

  const page = async (path: string) => {
    const answer = await fetch(usher.rest + path, { headers: { accept: 'text/html' } });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const subjects = async (query: string) => {
    const answer = await fetch(`${usher.rest}/dev/mail${query}`, { headers: { accept: 'application/json' } });
    return ((await answer.json()) as { data: { subject: string }[] }).data.map(({ subject }) => subject);
  };

  test('the mailbox page allows only its own style sheet and script, by hash', async () => {
    const { text, headers } = await page('/dev/mail');
    const hash = (tag: string) => {
      const [, content = ''] = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(text) ?? [];
      return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
    };
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src ${hash('style')}; script-src ${hash('script')}; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    );
    expect(text.match(/<script/g)).toHaveLength(1);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('no script runs beside a mail, and windows that it opens are isolated', async () => {
    const { text, headers } = await page(`/dev/mail/${hostile}`);
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'unsafe-inline'; img-src http: https: data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(text).toContain('<iframe sandbox="allow-popups allow-popups-to-escape-sandbox" ');
    expect(text).toContain('&lt;head&gt;&lt;base target=&quot;_blank&quot;&gt;');
  });

  test('the content of a mail is text on both pages, in every place', async () => {
    for (const { text } of [await page('/dev/mail'), await page(`/dev/mail/${hostile}`)]) {
      expect(text).not.toContain('<script>alert');
      expect(text).not.toContain('<img');
      expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    }
  });

  test('the mailbox search ignores case, matches recipients and subjects as text, and is displayed', async () => {
    expect(await subjects('')).toHaveLength(3);
    expect(await subjects('?q=')).toHaveLength(3);
    expect(await subjects('?q=BEN%40')).toEqual(['Invoice 7']);
    expect(await subjects('?q=project')).toEqual(['PROJECT is ready']);
    expect(await subjects('?q=.*')).toEqual([]);
    expect(await subjects('?q=%3Cscript')).toEqual([HOSTILE]);
    const { text } = await page('/dev/mail?q=%22%3E%3Cscript%3E');
    expect(text).toContain('value="&quot;&gt;&lt;script&gt;"');
    expect(text).toContain('0 of 3 mails with “&quot;&gt;&lt;script&gt;” in recipient or subject.');
    expect((await page('/dev/mail?nope=1')).status).toBe(400);
  });

  test('a deleted mail is 404, as a page for people and JSON for programs', async () => {
    const path = '/dev/mail/000000000000001-00000000';
    const { status, headers, text } = await page(path);
    expect([status, headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(text).toContain('<h1>This mail is no longer here</h1>');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'; style-src 'sha256-");
    const json = await fetch(usher.rest + path);
    expect([json.status, await json.json()]).toMatchObject([404, { success: false, code: 'NOT_FOUND' }]);
  });

  test('times in the mailbox are machine-readable, exact on demand, and displayed relatively', async () => {
    const [row] = /<time[^>]*>[^<]*<\/time>/.exec((await page('/dev/mail')).text) ?? [];
    expect(row).toMatch(
      /^<time datetime="\d{4}-\d\d-\d\dT[\d:.]+Z" title="\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC">just now<\/time>$/,
    );
  });
});

test.each([
  [-5_000, 'just now'],
  [59_999, 'just now'],
  [60_000, '1 minute ago'],
  [3_599_999, '59 minutes ago'],
  [3_600_000, '1 hour ago'],
  [86_400_000, 'yesterday'],
  [5 * 86_400_000, '5 days ago'],
])('a mail from %d ms ago is displayed as "%s"', (passed, words) => {
  expect(relative(1e12, 1e12 + passed)).toBe(words);
});

test('a mail without a head also gets a base element', () => {
  const kept = { id: '1', at: '2026-01-01T00:00:00.000Z', ...mail({ html: '<p>Bare</p>' }) };
  expect(mailPage(kept, 0)).toContain('srcdoc="&lt;base target=&quot;_blank&quot;&gt;&lt;p&gt;Bare');
});
