import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { DevelopmentMail } from '../../src/gen/api.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { type RunningBrowser, startChromium } from './chromium.ts';

let storage: TestStorage;
let push: PushService;
let usher: RunningUsher;
let browser: RunningBrowser;
let root: Rest;
let example: ChildProcess;
let exampleUrl: string;
/** The same example at an origin that the service does not know. */
let stranger: ChildProcess;
let strangerUrl: string;

const SETTINGS = 'https://app.example.com/settings';

beforeAll(async () => {
  const [port, other] = [await freePort(), await freePort()];
  exampleUrl = `http://localhost:${port}`;
  strangerUrl = `http://localhost:${other}`;
  [storage, push, browser] = await Promise.all([createStorage('pglite'), startPushService(), startChromium()]);
  const serve = (at: number) => spawn(process.execPath, ['examples/web-push/serve.js', String(at)], { stdio: 'pipe' });
  [example, stranger] = [serve(port), serve(other)];
  const env = { PUSH_ALLOWED_HOSTS: push.host, CORS_ORIGINS: exampleUrl, NOTIFICATIONS_SETTINGS_URL: SETTINGS };
  usher = await startUsher(storage, { env });
  root = await Rest.as(usher, 'admin@example.com');
  await root.post('/api/applications', { code: 'atelier', name: 'Atelier & friends' });
  for (const { stdout } of [example, stranger])
    if (stdout && stdout.readableLength === 0) await once(stdout, 'readable');
}, 90_000);
afterAll(async () => {
  example?.kill();
  stranger?.kill();
  await Promise.all([usher?.close(), push?.close(), browser?.close()]);
  await storage?.remove();
});

/** A page, and everything that it complained of. */
async function open(url: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // Every browser asks for a picture of the site by itself.
    if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico')) complaints.push(message.text());
  });
  await page.goto(url);
  return { page, complaints };
}

// What runs in a page is text: the types of this project are not those of a browser.
const SUBSCRIBE = `(made) => {
  PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    if (!userVisibleOnly || applicationServerKey.length !== 65) throw new Error('not what a browser takes');
    return { endpoint: made.endpoint, unsubscribe: async () => true, toJSON: () => made };
  };
}`;
// A browser that is asked for its notifications forgets one that it has stored and not shown yet: so it is asked once, afterwards.
const TELL_SHOWN = `self.shown = new Promise((resolve) => {
  const show = self.registration.showNotification;
  self.registration.showNotification = function (...given) {
    const showing = show.apply(this, given);
    resolve(showing);
    return showing;
  };
}), undefined`;
const SHOWN = `navigator.serviceWorker.ready
  .then((worker) => worker.getNotifications())
  .then((all) => all.map(({ title, body, data }) => ({ title, body, data })))`;

const send = (body: object) => root.post('/api/applications/atelier/notifications', body);
/** The HTML of a mail, once the worker has put it into the mailbox. */
async function mailOf(subject: string): Promise<string> {
  for (;;) {
    const answer = await fetch(`${usher.rest}/dev/mail`);
    const { data } = (await answer.json()) as { data: DevelopmentMail[] };
    const found = data.find((mail) => mail.subject === subject);
    if (found !== undefined) return found.html;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

// By hand what a checker of accessibility looks at first.
const FAULTS = `(() => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const named = (e) => e.textContent.trim() || e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.title || e.labels?.length;
  if (document.documentElement.lang === '') faults.push('no language');
  if (document.title === '') faults.push('no title');
  if (all('main').length !== 1) faults.push('not one main');
  if (all('h1').length !== 1) faults.push('not one h1');
  for (const e of all('a, button, input, iframe, summary')) if (!named(e)) faults.push('no name: ' + e.outerHTML.slice(0, 80));
  for (const e of all('img')) if (!e.alt) faults.push('no alt');
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) faults.push('wider than the screen: ' + scrollWidth);
  return faults;
})()`;
const PHONE = { width: 390, height: 844 };
const FOCUSED = 'document.activeElement.textContent';

/** What a page does wrong on a phone, in light and in dark. */
async function faultsOn(page: Page): Promise<unknown> {
  await page.setViewportSize(PHONE);
  await page.emulateMedia({ colorScheme: 'dark' });
  const faults = await page.evaluate(FAULTS);
  await page.emulateMedia({ colorScheme: 'light' });
  return faults;
}

test('the unsubscribe link of a delivered mail opens a page whose button turns the mail off', async () => {
  await send({ recipients: ['ben@example.com'], subject: 'Weekly news', body: 'Nothing.' });
  const ben = await Rest.as(usher, 'ben@example.com');
  const preference = async () => (await ben.get('/api/profile/me/notifications/atelier')).body.response[0];
  expect(await preference()).toMatchObject({ code: 'generic', email: true });

  const html = await mailOf('Weekly news');
  const link = /href="([^"]*unsubscribe[^"]*)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const { page: asked, complaints } = await open(link);
  expect(await asked.locator('p').textContent()).toBe('Stop e-mails of the kind “Generic” from Atelier & friends?');
  expect(await preference()).toMatchObject({ email: true });
  await asked.getByRole('button', { name: 'Unsubscribe' }).click();
  await asked.getByRole('heading', { name: 'Unsubscribed' }).waitFor();
  expect(await preference()).toMatchObject({ email: false, push: true });
  expect(await faultsOn(asked)).toEqual([]);

  // Once more by keyboard alone: the button is the first thing that takes the focus, the settings are the next.
  await asked.keyboard.press('Tab');
  expect(await asked.evaluate(FOCUSED)).toBe('Switch them on again');
  await asked.keyboard.press('Enter');
  await asked.getByRole('heading', { name: 'Switched on again' }).waitFor();
  expect(await preference()).toMatchObject({ email: true, push: true });
  await asked.keyboard.press('Tab');
  await asked.keyboard.press('Tab');
  expect(await asked.evaluate(FOCUSED)).toBe('Your settings');
  expect(await asked.getByRole('link', { name: 'Your settings' }).getAttribute('href')).toBe(SETTINGS);
  expect(complaints).toEqual([]);

  const { page: damaged } = await open(`${link}x`);
  expect(await damaged.getByRole('heading').textContent()).toBe('This link does not work');
  expect(await faultsOn(damaged)).toEqual([]);
});

// No push service is reached here: the browser's own subscription is replaced by one of a push service on this machine, and what
// that one got and decrypted is handed to the service worker by the browser, as a push is.
test('the Web Push example subscribes a browser, and its service worker displays the push', async () => {
  const cara = await Rest.as(usher, 'cara@example.com');
  const { vapidPublicKey } = (await cara.get('/api/profile/me/push/vapid-key')).body.data;
  const subscription = push.browser('cara', vapidPublicKey);
  await browser.context.grantPermissions(['notifications'], { origin: exampleUrl });
  const { page, complaints } = await open(exampleUrl);
  await page.evaluate(`(${SUBSCRIBE})(${JSON.stringify(subscription)})`);
  await page.getByLabel('Usher').fill(usher.rest);
  await page.getByLabel('Token').fill(await usher.token('cara@example.com'));
  await page.getByRole('button', { name: 'Take pushes here' }).click();
  await page.getByText('This browser takes pushes').waitFor();
  expect((await cara.get('/api/profile/me/push/subscriptions')).body.response).toMatchObject([
    { endpoint: subscription.endpoint },
  ]);

  await send({
    recipients: ['cara@example.com'],
    subject: 'Invoice 7',
    body: 'It is due.',
    url: 'https://example.com/7',
  });
  while (push.pushes.length === 0) await page.waitForTimeout(50);
  const [worker] = browser.context.serviceWorkers();
  await worker?.evaluate(TELL_SHOWN);
  await deliverPush(page, JSON.stringify(push.pushes[0]?.payload));
  await worker?.evaluate('self.shown');
  expect(await page.evaluate(SHOWN)).toEqual([
    { title: 'Invoice 7', body: 'It is due.', data: { url: 'https://example.com/7' } },
  ]);
  expect(push.faults).toEqual([]);
  expect(complaints).toEqual([]);
});

test('the Web Push example explains failures and their fixes', async () => {
  const token = await usher.token('dan@example.com');
  const said = async (url: string, at: string, bearer: string, prepare?: (page: Page) => Promise<unknown>) => {
    const { page } = await open(url);
    await prepare?.(page);
    await page.getByLabel('Usher').fill(at);
    await page.getByLabel('Token').fill(bearer);
    await page.getByRole('button', { name: 'Take pushes here' }).click();
    await page.locator('#fix:not(:empty)').waitFor();
    const text = `${await page.locator('#said').textContent()} ${await page.locator('#fix').textContent()}`;
    // On the root: on the body alone a dark browser shows dark fields on a white page.
    expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('light dark');
    await page.close();
    return text;
  };
  const free = await freePort();
  await browser.context.clearPermissions();
  expect(await said(exampleUrl, usher.rest, token)).toMatch(
    /^Notifications are blocked .*set Notifications to "Allow"/,
  );
  await browser.context.grantPermissions(['notifications'], { origin: exampleUrl });
  await browser.context.grantPermissions(['notifications'], { origin: strangerUrl });
  expect(await said(exampleUrl, usher.rest, '')).toMatch(/^There is no token\. Paste/);
  expect(await said(exampleUrl, usher.rest, 'x.y.z')).toMatch(/^Usher does not take the token: .* Make a new one/);
  expect(await said(exampleUrl, `http://localhost:${free}`, token)).toMatch(/^Nothing answers at .* Start Usher/);
  expect(await said(exampleUrl, exampleUrl, token)).toMatch(/^http:\S+ answered 404, but not as Usher does\. Check/);
  expect(await said(strangerUrl, usher.rest, token)).toBe(
    `${usher.rest} answers, but it does not let pages of ${strangerUrl} read its answers (CORS). Start Usher so that it lets this page in: CORS_ORIGINS=${strangerUrl} npm start`,
  );
  const foreign = { ...push.browser('dan', 'AA'), endpoint: 'https://push.stranger.example.com/1' };
  const subscribed = (page: Page) => page.evaluate(`(${SUBSCRIBE})(${JSON.stringify(foreign)})`);
  expect(await said(exampleUrl, usher.rest, token, subscribed)).toMatch(
    /^Usher does not push to push\.stranger\.example\.com, .*PUSH_ALLOWED_HOSTS=push\.stranger\.example\.com$/,
  );
  const failing = (page: Page) =>
    page.evaluate(
      "PushManager.prototype.subscribe = async () => { throw new DOMException('push service error', 'AbortError'); }, undefined",
    );
  expect(await said(exampleUrl, usher.rest, token, failing)).toMatch(
    /push service: push service error .*reach the internet/,
  );
});

/** What the browser does when its push service has something for the page's service worker. */
async function deliverPush(page: Page, data: string): Promise<void> {
  const session = await browser.context.newCDPSession(page);
  const registered = new Promise<string>((resolve) => {
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const [registration] = registrations.filter(({ scopeURL }) => scopeURL === `${exampleUrl}/`);
      if (registration) resolve(registration.registrationId);
    });
  });
  await session.send('ServiceWorker.enable');
  const registrationId = await registered;
  await session.send('ServiceWorker.deliverPushMessage', { origin: exampleUrl, registrationId, data });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
