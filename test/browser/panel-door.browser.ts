import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type BuiltPanel, buildPanel } from '../support/panel-folder.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { type RunningBrowser, startChromium } from './chromium.ts';
import { watch } from './complaints.ts';

/** The preview page as the build writes it, small: it takes HTML from its parent and shows it in place of itself. */
const PREVIEW = `<!doctype html><html lang="en"><head><title>Preview</title><script>addEventListener('message', ({ source, data }) => {
  if (source !== parent) return;
  document.replaceChild(document.importNode(new DOMParser().parseFromString(data, 'text/html').documentElement, true), document.documentElement);
  parent.postMessage({ size: getComputedStyle(document.querySelector('p')).fontSize, origin: self.origin, ran: document.body.dataset.ran ?? null }, '*');
});</script></head><body><p>Nothing yet</p></body></html>`;
const FILES = {
  'index.html': `<!doctype html><html lang="en"><head><title>Panel</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/panel/assets/index-a1.css">
<script type="module" src="/panel/assets/index-a1.js"></script></head><body><main><h1>Panel</h1></main></body></html>`,
  'preview.html': PREVIEW,
  'assets/index-a1.css': 'h1{color:rgb(1, 2, 3)}',
  'assets/index-a1.js': "document.body.dataset.started = 'yes';",
};

let storage: TestStorage;
let built: BuiltPanel;
let usher: RunningUsher;
let browser: RunningBrowser;
let home: string;
/** A page of another port of this machine, and of another origin to a browser. */
let stranger: Server;
let strangerUrl: string;

beforeAll(async () => {
  [storage, browser, built] = await Promise.all([createStorage('pglite'), startChromium(), buildPanel(FILES)]);
  usher = await startUsher(storage, { parts: { panelFolder: pathToFileURL(`${built.path}/`) } });
  home = usher.app.publicUrl();
  stranger = createServer((_req, res) => res.setHeader('content-type', 'text/html').end('<title>Stranger</title>'));
  await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
  strangerUrl = `http://localhost:${(stranger.address() as AddressInfo).port}`;
}, 90_000);
afterAll(async () => {
  stranger?.close();
  await Promise.all([usher?.close(), browser?.close(), built?.remove()]);
  await storage?.remove();
});

const open = (path = '/panel/') => watch(browser.context, home + path, [home]);
const code = () => usher.app.developmentSignIn?.code ?? '';

test('the panel runs and looks as built, without a violation, on every page of it', async () => {
  for (const path of ['/panel/', '/panel', '/panel/people/ada@example.com?tab=access']) {
    const { page, complaints } = await open(path);
    expect(await page.evaluate('document.body.dataset.started')).toBe('yes');
    expect(await page.evaluate("getComputedStyle(document.querySelector('h1')).color")).toBe('rgb(1, 2, 3)');
    expect([page.url(), complaints]).toEqual([home + (path === '/panel' ? '/panel/' : path), []]);
    await page.close();
  }
});

test.each([
  [
    'an inline script',
    "document.head.append(Object.assign(document.createElement('script'), { textContent: 'hit = 1' }))",
    'require-trusted-types-for',
  ],
  ['an inline handler', "document.body.setAttribute('onclick', 'hit = 1')", 'require-trusted-types-for'],
  ['HTML from text', "document.body.innerHTML = '<b>hit</b>'", 'require-trusted-types-for'],
  ['code from text', "setTimeout('hit = 1')", 'require-trusted-types-for'],
  [
    'an inline style',
    "document.head.append(Object.assign(document.createElement('style'), { textContent: 'h1{}' }))",
    'style-src-elem',
  ],
  ['a request elsewhere', "fetch('STRANGER').catch(() => undefined)", 'connect-src'],
  [
    'a foreign frame',
    "document.body.append(Object.assign(document.createElement('iframe'), { src: 'STRANGER' }))",
    'frame-src',
  ],
  [
    'a foreign base',
    "document.head.append(Object.assign(document.createElement('base'), { href: 'STRANGER' }))",
    'base-uri',
  ],
])('the policy of the panel stops %s', async (_, act, directive) => {
  const { page } = await open();
  const told = page.waitForEvent('console', (message) => message.text().startsWith(`violation: ${directive} `));
  // From a file of the page, as an attacker's code would be: what a debugger evaluates is above the policy.
  await page.route('**/panel/assets/act.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: act.replace('STRANGER', strangerUrl) }),
  );
  const loader =
    "trustedTypes.createPolicy('test', { createScriptURL: (url) => url }).createScriptURL('/panel/assets/act.js')";
  await page.evaluate(`document.head.append(Object.assign(document.createElement('script'), { src: ${loader} }))`);
  await told;
  expect(await page.evaluate('globalThis.hit')).toBeUndefined();
  await page.close();
});

test('a page of another origin frames neither the panel nor its preview', async () => {
  for (const path of ['/panel/', '/panel/preview.html']) {
    const page = await browser.context.newPage();
    await page.goto(strangerUrl);
    const refused = page.waitForEvent('console', (message) => message.type() === 'error');
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement('iframe'), { src: '${home}${path}' }))`,
    );
    expect((await refused).text()).toMatch(/frame-ancestors/);
    await page.close();
  }
});

test('a mail in the preview has its styles, and its scripts do not run', async () => {
  const { page, complaints } = await open();
  const mail = `<style>p{font-size:31px}</style><p style="color:red">Hello</p><script>document.body.dataset.ran = 1</script><img src="data:," onerror="document.body.dataset.ran = 1">`;
  const said = await page.evaluate(`new Promise((resolve) => {
    addEventListener('message', ({ data }) => setTimeout(resolve, 300, data));
    const frame = document.createElement('iframe');
    frame.addEventListener('load', () => frame.contentWindow.postMessage(${JSON.stringify(mail)}, '*'));
    frame.src = '/panel/preview.html';
    document.body.append(frame);
  })`);
  expect(said).toEqual({ size: '31px', origin: 'null', ran: null });
  const [, frame] = page.frames();
  expect(await frame?.evaluate('document.body.dataset.ran')).toBeUndefined();
  // The handler of the picture was refused, in the frame alone.
  expect(complaints.filter((text) => !/onerror|inline event handler|script-src/.test(text))).toEqual([]);
  await page.close();
});

// What a page of the panel does: the browser sets `Sec-Fetch-Site`.
const SIGN_IN = (base: string) => `(async () => {
  const answer = await fetch('${base}/dev/sign-in?code=${code()}', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"email":"admin@example.com"}' });
  return [answer.status, (await answer.json()).data?.token?.split('.').length];
})().catch((error) => error.name)`;

test('the panel signs in with the code, and a page of another port does not', async () => {
  const { page, complaints } = await open(`/panel/?code=${code()}`);
  expect(await page.evaluate(SIGN_IN(''))).toEqual([200, 3]);
  expect(complaints).toEqual([]);
  await page.goto(strangerUrl);
  expect(await page.evaluate(SIGN_IN(home))).toBe('TypeError');
  await page.close();
});

test('opened at 127.0.0.1 the panel moves to the host of publicUrl, with its code', async () => {
  const { page, complaints } = await watch(browser.context, `${usher.rest}/panel/?code=abc`, [home, usher.rest]);
  expect(page.url()).toBe(`${home}/panel/?code=abc`);
  expect(complaints).toEqual([]);
  await page.close();
});

test('the page at / leads to the panel, and fits the smallest phone', async () => {
  const { page, complaints } = await open('/');
  await page.setViewportSize({ width: 320, height: 640 });
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
  expect(await page.getByRole('link').allTextContents()).toHaveLength(3);
  await page.getByRole('link', { name: 'Panel' }).click();
  await page.waitForURL(`${home}/panel/`);
  // Every browser asks for a picture of the site by itself.
  expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
  await page.close();
});
