import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
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

beforeAll(async () => {
  const port = await freePort();
  exampleUrl = `http://localhost:${port}`;
  [storage, push, browser] = await Promise.all([createStorage('pglite'), startPushService(), startChromium()]);
  example = spawn(process.execPath, ['examples/web-push/serve.js', String(port)], { stdio: 'pipe' });
  usher = await startUsher(storage, { env: { PUSH_ALLOWED_HOSTS: push.host, CORS_ORIGINS: exampleUrl } });
  root = await Rest.as(usher, 'admin@example.com');
  await root.post('/api/applications', { code: 'atelier', name: 'Atelier & friends' });
  if (example.stdout) await once(example.stdout, 'data');
}, 90_000);
afterAll(async () => {
  example?.kill();
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
const FOUND =
  "[...document.querySelectorAll('nav a')].filter((link) => document.getElementById(link.hash.slice(1))).length";
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
const mailLink = (page: Page, subject: string) => page.getByRole('link', { name: subject });

/** Looks into the mailbox until the worker has put a mail there. */
async function mailOf(subject: string): Promise<{ page: Page; complaints: string[] }> {
  const opened = await open(`${usher.rest}/dev/mail`);
  while ((await mailLink(opened.page, subject).count()) === 0) {
    await opened.page.waitForTimeout(200);
    await opened.page.reload();
  }
  return opened;
}

test('the documentation shows itself: no complaint, and every link of its contents leads somewhere', async () => {
  const { page, complaints } = await open(`${usher.rest}/api/docs`);
  expect(await page.title()).toBe('Usher API');
  const links = await page.locator('nav a').count();
  expect(links).toBeGreaterThan(100);
  expect(await page.evaluate(FOUND)).toBe(links);
  // Its own style sheet is the only one that the policy lets in.
  expect(await page.evaluate("getComputedStyle(document.querySelector('main')).maxWidth")).toBe('960px');
  expect(complaints).toEqual([]);
});

test('the mailbox shows a mail, and nothing in it acts', async () => {
  await send({ recipients: ['ann@example.com'], subject: '<Fire> & water', body: 'Look <script>alert(1)</script>' });
  const { page, complaints } = await mailOf('<Fire> & water');
  await mailLink(page, '<Fire> & water').click();
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('<Fire> & water');
  const mail = page.frameLocator('iframe');
  expect(await mail.locator('.usher-body').textContent()).toContain('Look <script>alert(1)</script>');
  expect(complaints).toEqual([]);
  await page.close();
});

test('the link of a delivered mail leads to a page, and its button switches the mail off', async () => {
  await send({ recipients: ['ben@example.com'], subject: 'Weekly news', body: 'Nothing.' });
  const ben = await Rest.as(usher, 'ben@example.com');
  const preference = async () => (await ben.get('/api/profile/me/notifications/atelier')).body.response[0];
  expect(await preference()).toMatchObject({ code: 'generic', email: true });

  const { page } = await mailOf('Weekly news');
  await mailLink(page, 'Weekly news').click();
  const link = page.frameLocator('iframe').getByRole('link').last();
  const { page: asked, complaints } = await open((await link.getAttribute('href')) ?? '');
  expect(await asked.locator('p').textContent()).toBe('No more e-mails of the kind “Generic” from Atelier & friends?');
  expect(await preference()).toMatchObject({ email: true });
  await asked.getByRole('button', { name: 'Unsubscribe' }).click();
  await asked.getByRole('heading', { name: 'Unsubscribed' }).waitFor();
  expect(await preference()).toMatchObject({ email: false, push: true });
  expect(complaints).toEqual([]);
});

// No push service is reached here: the browser's own subscription is replaced by one of a push service on this machine, and what
// that one got and decrypted is handed to the service worker by the browser, as a push is.
test('the example of Web Push subscribes a browser, and its service worker shows what was sent', async () => {
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
