import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page, Route } from 'playwright-core';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { LineCutter } from '../support/proxy.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { launchShell } from './chromium.ts';
import { axeFaults, overflow } from './panel.ts';
import { administer, makeDemo } from './panel-world.ts';
import { type ExampleOptions, OWN_PUSHES, openExample, type RunningExample, startExample } from './react-page.ts';

const BEN = 'ben@example.com';
const ADMIN = 'admin@example.com';

let storage: TestStorage;
let push: PushService;
let usher: RunningUsher;
/** Between the pages and the service, to cut and to restart it. */
let line: LineCutter;
let browser: Browser;
let example: RunningExample;
const closes: (() => Promise<void>)[] = [];

beforeAll(async () => {
  [storage, browser, push] = await Promise.all([createStorage('postgresql'), launchShell(), startPushService()]);
  usher = await startService();
  await makeDemo(usher);
  line = await LineCutter.start(usher.rest);
  example = await startExample(line.url(usher.rest), storage.dataDir);
}, 120_000);
afterEach(async () => {
  for (const close of closes.splice(0)) await close();
  line.up();
});
afterAll(async () => {
  example?.close();
  await browser?.close();
  await line?.close();
  await Promise.all([usher?.close(), push?.close()]);
  await storage?.remove();
});

const startService = () => startUsher(storage, { env: { PUSH_ALLOWED_HOSTS: push.host } });

async function open(options: ExampleOptions = {}): Promise<{ page: Page; complaints: string[] }> {
  const opened = await openExample(browser, example.url, options);
  closes.push(opened.close);
  return opened;
}

const editButton = (page: Page) => page.getByRole('button', { name: 'Edit the project' });
const bell = (page: Page) => page.getByRole('button', { name: /^Notifications/ });
const panel = (page: Page) => page.getByRole('dialog', { name: 'Notifications' });
const focused = (page: Page) =>
  page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent");
let people = 0;
/** Somebody whose inbox is empty. */
const newcomer = () => `newcomer${++people}@example.com`;
const send = (email: string, subject: string, more: object = {}) =>
  administer(usher, 'POST /api/applications/atelier/notifications', { recipients: [email], subject, ...more });

describe('two windows', () => {
  test('a role is taken away in one, and the button is gone in the other within a second; given back, it returns', async () => {
    const [mine, theirs] = [await open({ as: BEN }), await open({ as: ADMIN })];
    await editButton(mine.page).waitFor();
    expect(await mine.page.getByRole('button', { name: 'Archive the project' }).count()).toBe(1);

    const take = theirs.page.getByRole('button', { name: 'Take the role away' });
    const answered = theirs.page.waitForResponse((response) => response.request().method() === 'DELETE');
    await take.click();
    expect((await answered).ok()).toBe(true);
    const begun = performance.now();
    await editButton(mine.page).waitFor({ state: 'detached' });
    expect(performance.now() - begun).toBeLessThan(1_000);
    await mine.page.getByText('You can look at this project.').waitFor();
    // What an override gives stays.
    expect(await mine.page.getByRole('button', { name: 'Archive the project' }).count()).toBe(1);

    await theirs.page.getByRole('button', { name: 'Give the role' }).click();
    await editButton(mine.page).waitFor();
    expect([...mine.complaints, ...theirs.complaints]).toEqual([]);
  });

  test('a notification is sent in one, and the bell rings in the other', async () => {
    const email = newcomer();
    const [mine, theirs] = [await open({ as: email }), await open({ as: ADMIN })];
    await mine.page.getByRole('button', { name: 'Notifications', exact: true }).waitFor();
    // What was there before is counted, and not announced.
    while (usher.app.streams.size < 2) await mine.page.waitForTimeout(50);
    await theirs.page.getByLabel('Person').fill(email);
    await theirs.page.getByLabel('Subject').fill('The drawings are here');
    await theirs.page.getByRole('button', { name: 'Send a notification' }).click();
    await mine.page.getByRole('button', { name: 'Notifications, 1 unread' }).waitFor();
    expect(await mine.page.locator('.usher-inbox [role=status]').textContent()).toBe(
      'New notification: The drawings are here',
    );
    expect(await mine.page.locator('.usher-inbox-count').textContent()).toBe('1');
    await bell(mine.page).click();
    await panel(mine.page).getByRole('button', { name: 'Mark as read: The drawings are here' }).click();
    await mine.page.getByRole('button', { name: 'Notifications', exact: true }).waitFor();
    expect([...mine.complaints, ...theirs.complaints]).toEqual([]);
  });
});

describe('everything that a page asks', () => {
  test('goes in one request', async () => {
    const asked: string[] = [];
    const { page } = await open({
      as: BEN,
      prepare: async (one) =>
        one.on('request', (request) => {
          if (request.method() === 'POST' && request.url().endsWith('/check/batch'))
            asked.push(request.postData() ?? '');
        }),
    });
    await editButton(page).waitFor();
    // Seven questions of three components.
    expect(asked.map((body) => (JSON.parse(body) as { checks: unknown[] }).checks.length)).toEqual([7]);
  });

  test('is denied to nobody, to the next person, and on the way to them', async () => {
    const { page, complaints } = await open({ as: BEN });
    await editButton(page).waitFor();
    // Nothing is answered from now on: what is displayed is what was kept.
    await page.route('**/check/batch', () => new Promise<void>(() => undefined));
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Sign in to see the project.').waitFor();
    expect(await editButton(page).count()).toBe(0);
    expect(await page.getByText('You can look at this project.').count()).toBe(0);
    await page.getByLabel('E-mail').fill('eva@client.example');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await bell(page).waitFor();
    expect(await editButton(page).count()).toBe(0);
    await page.unroute('**/check/batch');
    expect(complaints).toEqual([]);
  });
});

describe('a page that nobody looks at', () => {
  const setHidden = (page: Page, hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${hidden ? 'hidden' : 'visible'}', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`);

  test('ends its streams after a while, and shows what is true when it is looked at again', async () => {
    const { page, complaints } = await open({ as: BEN, prepare: (one) => one.clock.install() });
    await editButton(page).waitFor();
    const streams = () => usher.app.permissionStreams.size + usher.app.streams.size;
    while (streams() < 2) await page.waitForTimeout(50);
    await setHidden(page, true);
    await page.clock.fastForward(10_000);
    expect(streams()).toBe(2);
    await page.clock.fastForward(11_000);
    while (streams() > 0) await page.waitForTimeout(50);
    await administer(usher, `DELETE /api/users/${BEN}/apps/atelier/roles/designer`);
    try {
      await setHidden(page, false);
      await editButton(page).waitFor({ state: 'detached' });
      while (streams() < 2) await page.waitForTimeout(50);
    } finally {
      await administer(usher, `POST /api/users/${BEN}/apps/atelier/roles`, { role: 'designer' });
    }
    await editButton(page).waitFor();
    expect(complaints).toEqual([]);
  });

  test.each(['visibilitychange', 'resume'])('shows nothing that is too old at the first look: %s', async (event) => {
    const { page } = await open({ as: BEN, prepare: (one) => one.clock.install() });
    await editButton(page).waitFor();
    // As after sleep: the clock is far ahead, no timer has run, and nothing was heard.
    await page.clock.setSystemTime(Date.now() + 31_000);
    const firstLook = `(async () => {
      document.dispatchEvent(new Event('${event}'));
      await new Promise((resolve) => queueMicrotask(resolve));
      return document.body.textContent.includes('Edit the project');
    })()`;
    expect(await page.evaluate(firstLook)).toBe(false);
    await editButton(page).waitFor();
  });
});

describe('trouble', () => {
  test('a token that has expired is renewed, and nobody notices', async () => {
    const expired = (await usher.app.localIssuer?.sign(BEN, {}, -3_600)) ?? '';
    const fresh = await usher.token(BEN);
    let given = 0;
    const { page } = await open({
      as: BEN,
      // A browser writes a line for every 401.
      expected: /401/,
      prepare: (one) =>
        one.route('**/token?*', (route) => route.fulfill({ json: { token: given++ === 0 ? expired : fresh } })),
    });
    await editButton(page).waitFor();
    expect(given).toBe(2);
    expect(await page.getByRole('alert').first().textContent()).toBe('');
  });

  test('a token that has expired, and whose renewal is refused, takes everything away and says so', async () => {
    const forged = `${(await usher.token(BEN)).slice(0, -6)}AAAAAA`;
    const short = async () => (await usher.app.localIssuer?.sign(BEN, {}, 6)) ?? '';
    let given = 0;
    const { page } = await open({
      as: BEN,
      expected: /401/,
      prepare: (one) =>
        one.route('**/token?*', async (route) => {
          await route.fulfill({ json: { token: given++ === 0 ? await short() : forged } });
        }),
    });
    await editButton(page).waitFor();
    // The stream ends with the token, and the next request needs another one.
    await editButton(page).waitFor({ state: 'detached', timeout: 15_000 });
    await page.getByText('Your session has ended. Sign in again.').waitFor();
  });

  test('a service that is silent keeps an "allowed" for its bound and not longer', async () => {
    const { page } = await open({ as: BEN, maxStalenessMs: 2_000, expected: /Failed to load|ERR_/ });
    await editButton(page).waitFor();
    await page.waitForTimeout(3_000);
    expect(await editButton(page).count()).toBe(1);
    line.swallow();
    const begun = performance.now();
    await editButton(page).waitFor({ state: 'detached' });
    // Of these a timer of a busy browser takes what is beyond the bound.
    expect(performance.now() - begun).toBeLessThan(2_500);
    line.up();
    await page.evaluate("dispatchEvent(new Event('online'))");
    await editButton(page).waitFor({ timeout: 20_000 });
  });

  test('a service that is restarted is followed again, and tells what has changed', async () => {
    const { page } = await open({ as: BEN, expected: /Failed to load|ERR_|CORS|fetch/ });
    await editButton(page).waitFor();
    await usher.close();
    usher = await startService();
    await administer(usher, `DELETE /api/users/${BEN}/apps/atelier/roles/designer`);
    line.lead(usher.rest);
    await editButton(page).waitFor({ state: 'detached', timeout: 25_000 });
    await administer(usher, `POST /api/users/${BEN}/apps/atelier/roles`, { role: 'designer' });
    await editButton(page).waitFor({ timeout: 25_000 });
    await send(BEN, 'After the restart');
    await page.getByRole('button', { name: 'Notifications, 1 unread' }).waitFor({ timeout: 25_000 });
  });
});

describe('the bell', () => {
  test('is used by the keyboard alone', async () => {
    const email = newcomer();
    await send(email, 'Older', { url: '/#project' });
    await send(email, 'Newer', { body: 'Two lines.\nOf text.' });
    const { page, complaints } = await open({ as: email });
    await page.getByRole('button', { name: 'Notifications, 2 unread' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Notifications, 2 unread');
    expect(await bell(page).getAttribute('aria-expanded')).toBe('false');
    await page.keyboard.press('Enter');
    await panel(page).waitFor();
    expect(await bell(page).getAttribute('aria-expanded')).toBe('true');
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).toBe('dialog');

    // Past both buttons of the head to the first notification, and by the arrow keys to the second.
    for (let tabs = 0; tabs < 3; tabs++) await page.keyboard.press('Tab');
    expect(await focused(page)).toMatch(/Newer/);
    await page.keyboard.press('ArrowDown');
    expect(await focused(page)).toMatch(/Older/);
    await page.keyboard.press('ArrowDown');
    expect(await focused(page)).toMatch(/Older/);
    await page.keyboard.press('Home');
    expect(await focused(page)).toMatch(/Newer/);

    // Its button goes with the press; the focus stays with the notification.
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Mark as read: Newer');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Notifications, 1 unread' }).waitFor();
    expect(await focused(page)).toMatch(/Newer/);

    await page.keyboard.press('Escape');
    expect(await panel(page).count()).toBe(0);
    expect(await focused(page)).toBe('Notifications, 1 unread');
    await page.keyboard.press('Enter');
    await panel(page).waitFor();
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Mark all as read');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Notifications', exact: true }).waitFor();
    expect(await focused(page)).toBe('Mark all as read');
    // Who tabs out of it has done with it.
    for (let tabs = 0; tabs < 3; tabs++) await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Older');
    await page.keyboard.press('Tab');
    await panel(page).waitFor({ state: 'detached' });
    expect(await focused(page)).toBe('Sign out');
    expect(complaints).toEqual([]);
  });

  test('closes on a press elsewhere, reads older pages, and marks the notification whose link is followed', async () => {
    const email = newcomer();
    const here = { url: `/?as=${encodeURIComponent(email)}&again=#project` };
    for (let at = 1; at <= 22; at++) await send(email, `Page ${at}`, at === 22 ? here : {});
    const { page, complaints } = await open({ as: email });
    const item = (subject: string) => page.getByRole('listitem').filter({ hasText: `Unread: ${subject}Atelier` });
    await page.getByRole('button', { name: 'Notifications, 22 unread' }).waitFor();
    await bell(page).click();
    await item('Page 3').waitFor();
    expect(await item('Page 2').count()).toBe(0);
    await page.getByRole('button', { name: 'Show older' }).click();
    await item('Page 1').waitFor();
    await page.getByRole('heading', { name: 'Atelier' }).click({ position: { x: 5, y: 5 } });
    await panel(page).waitFor({ state: 'detached' });
    await bell(page).click();
    await page.getByRole('link', { name: 'Page 22' }).click();
    await page.waitForURL(/again=#project$/);
    await page.getByRole('button', { name: 'Notifications, 21 unread' }).waitFor();
    expect(complaints).toEqual([]);
  });

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 320],
    ['dark', 320],
  ])('is without faults for axe, and fits: %s, %i pixels', async (scheme, width) => {
    const email = newcomer();
    await send(email, 'The drawings', { url: '/#project', body: 'Averylongwordwithoutaspace'.repeat(6) });
    await send(email, 'Without a link');
    const { page, complaints } = await open({ as: email, dark: scheme === 'dark', width });
    await page.getByRole('button', { name: 'Notifications, 2 unread' }).waitFor();
    await page.getByText('You can look at this project.').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await bell(page).click();
    await page.getByRole('link', { name: 'The drawings' }).waitFor();
    expect(await axeFaults(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
    const box = await panel(page).boundingBox();
    expect(Math.min(box?.x ?? -1, width - (box?.x ?? 0) - (box?.width ?? width))).toBeGreaterThanOrEqual(0);
    expect(complaints).toEqual([]);
  });

  test('has the colors of the page around it', async () => {
    const { page } = await open({ as: BEN });
    await bell(page).click();
    await page.addStyleTag({ content: ':root { --usher-surface: rgb(1, 2, 3); }' });
    const color = "getComputedStyle(document.querySelector('.usher-inbox-panel')).backgroundColor";
    expect(await page.evaluate(color)).toBe('rgb(1, 2, 3)');
  });
});

// No push service is reached here: the browser's own subscription is replaced by one of a push service on this machine.
test('pushes are subscribed and ended for the person who is signed in, and one of somebody else does not count', async () => {
  const person = newcomer();
  const api = await Rest.as(usher, person);
  const { vapidPublicKey } = (await api.get('/api/profile/me/push/vapid-key')).body.data;
  const subscription = push.browser('person', vapidPublicKey);
  const { page, complaints } = await open({
    as: person,
    prepare: async (one) => {
      await one.context().grantPermissions(['notifications'], { origin: example.url });
      await one.addInitScript(`(${OWN_PUSHES})(${JSON.stringify(subscription)})`);
    },
  });
  const stored = async () => (await api.get('/api/profile/me/push/subscriptions')).body.response;
  await page.getByRole('button', { name: 'Take pushes here' }).click();
  await page.getByText('This browser takes pushes.').waitFor();
  expect(await stored()).toMatchObject([
    { endpoint: subscription.endpoint, deviceLabel: expect.stringContaining('Chrome') },
  ]);

  // Somebody else at the same browser has none; the answer about her comes late, and stands on the page a frame after that.
  const asked = Promise.withResolvers<Route>();
  await page.route('**/push/subscriptions', (route) => asked.resolve(route), { times: 1 });
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('E-mail').fill('clara@example.com');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('clara@example.com').waitFor();
  await page.getByRole('button', { name: 'Take pushes here' }).waitFor();
  const late = await asked.promise;
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('E-mail').fill(person);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'No pushes here' }).waitFor();
  await Promise.all([page.waitForEvent('requestfinished', (one) => one === late.request()), late.continue()]);
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50)))');
  expect(await page.getByRole('button', { name: 'No pushes here' }).count()).toBe(1);
  await page.getByRole('button', { name: 'No pushes here' }).click();
  await page.getByRole('button', { name: 'Take pushes here' }).waitFor();
  expect(await stored()).toEqual([]);
  expect(complaints).toEqual([]);
});
