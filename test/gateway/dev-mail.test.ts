import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { Mailbox } from '../../src/delivery/mailbox.ts';
import type { ComposedMail } from '../../src/delivery/message.ts';
import type { DevelopmentMail } from '../../src/gen/api.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const HOSTILE = `</title></textarea><script>alert(1)</script><img src=x onerror=alert(1)>"'`;
const BROWSER = 'text/html,application/xhtml+xml,*/*;q=0.8';

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

  const ask = (path: string, accept: string) => fetch(usher.rest + path, { headers: { accept }, redirect: 'manual' });
  const subjects = async (query: string) => {
    const answer = await ask(`/dev/mail${query}`, 'application/json');
    return ((await answer.json()) as { data: DevelopmentMail[] }).data.map(({ subject }) => subject);
  };

  test.each([
    ['/dev/mail', '/panel/mailbox'],
    ['/dev/mail?q=ben%40', '/panel/mailbox?q=ben%40'],
    ['/dev/mail/000000000000001-00000000', '/panel/mailbox/000000000000001-00000000'],
  ])('%s leads a browser to %s, and no cache keeps that', async (from, to) => {
    const answer = await ask(from, BROWSER);
    expect([answer.status, answer.headers.get('location')]).toEqual([302, to]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('vary')?.toLowerCase()).toContain('accept');
  });

  test.each(['application/json', '*/*'])(
    'programs that accept %s read the mails, which no cache keeps',
    async (accept) => {
      for (const path of ['/dev/mail', `/dev/mail/${hostile}`]) {
        const answer = await ask(path, accept);
        expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
        expect(answer.headers.get('cache-control')).toBe('no-store');
        expect(await answer.text()).toContain(JSON.stringify(HOSTILE));
      }
    },
  );

  test('where there is no panel a browser reads what programs read', async () => {
    const other = await createStorage('pglite');
    const bare = await startUsher(other, { env: { PANEL_ENABLED: 'false' } });
    const answer = await fetch(`${bare.rest}/dev/mail`, { headers: { accept: BROWSER }, redirect: 'manual' });
    expect([answer.status, await answer.json()]).toEqual([200, { success: true, data: [] }]);
    await bare.close();
    await other.remove();
  });

  test('the mailbox search ignores case, and matches recipients and subjects as text', async () => {
    expect(await subjects('')).toHaveLength(3);
    expect(await subjects('?q=')).toHaveLength(3);
    expect(await subjects('?q=BEN%40')).toEqual(['Invoice 7']);
    expect(await subjects('?q=project')).toEqual(['PROJECT is ready']);
    expect(await subjects('?q=.*')).toEqual([]);
    expect(await subjects('?q=%3Cscript')).toEqual([HOSTILE]);
    expect((await ask('/dev/mail?nope=1', 'application/json')).status).toBe(400);
  });

  test('a deleted mail is 404', async () => {
    const answer = await ask('/dev/mail/000000000000001-00000000', 'application/json');
    expect([answer.status, await answer.json()]).toMatchObject([404, { success: false, code: 'NOT_FOUND' }]);
  });
});
