import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';

/** The example of the React package, as its own script serves it. */
export interface RunningExample {
  readonly url: string;
  close(): void;
}

/** Builds and serves it, for the service at `usherUrl` whose development key is in `dataDir`. */
export async function startExample(usherUrl: string, dataDir: string): Promise<RunningExample> {
  const port = await freePort();
  // As a shell would: jest sets a NODE_ENV that no user has.
  const { NODE_ENV: _, ...shell } = process.env;
  const env = { ...shell, USHER_URL: usherUrl, DATA_DIR: dataDir };
  const started = spawn(process.execPath, ['examples/react/serve.js', String(port)], { stdio: 'pipe', env });
  const said: string[] = [];
  started.stderr.on('data', (chunk: Buffer) => said.push(String(chunk)));
  await Promise.race([once(started.stdout, 'data'), ended(started, said)]);
  return { url: `http://localhost:${port}`, close: () => started.kill() };
}

async function ended(child: ChildProcess, said: readonly string[]): Promise<never> {
  await once(child, 'exit');
  throw new Error(`the example ended: ${said.join('')}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A window with the example. */
export interface ExamplePage {
  readonly page: Page;
  /** Console errors and exceptions. A test expects none. */
  readonly complaints: string[];
  readonly close: () => Promise<void>;
}

export interface ExampleOptions {
  /** Who is signed in; nobody without. */
  readonly as?: string;
  /** The bound of an "allowed", in milliseconds. */
  readonly maxStalenessMs?: number;
  readonly dark?: boolean;
  readonly width?: number;
  /** Console errors that a test provokes. */
  readonly expected?: RegExp;
  /** Before the page is loaded. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/** Opens the example in a browser context of its own. */
export async function openExample(browser: Browser, url: string, options: ExampleOptions = {}): Promise<ExamplePage> {
  const { as, maxStalenessMs, dark = false, width = 1280, expected, prepare } = options;
  const colorScheme = dark ? 'dark' : 'light';
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, locale: 'en-US' });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const complaints: string[] = [];
  const complain = (text: string): void => {
    if (expected?.test(text) !== true) complaints.push(text);
  };
  page.on('pageerror', (error) => complain(String(error.stack ?? error)));
  page.on('console', (message) => message.type() === 'error' && complain(message.text()));
  await prepare?.(page);
  const query = new URLSearchParams({
    ...(as === undefined ? {} : { as }),
    ...(maxStalenessMs === undefined ? {} : { maxStalenessMs: String(maxStalenessMs) }),
  });
  await page.goto(`${url}/?${query.toString()}`);
  return { page, complaints, close: () => context.close() };
}

/** A push service of the test's own. What runs in a page is text: the types of this project are not those of a browser. */
export const OWN_PUSHES = `(made) => {
  const own = { endpoint: made.endpoint, toJSON: () => made, unsubscribe: async () => { localStorage.removeItem('own'); return true; } };
  PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    if (!userVisibleOnly || applicationServerKey.length !== 65) throw new Error('not what a browser takes');
    localStorage.setItem('own', '1');
    return own;
  };
  PushManager.prototype.getSubscription = async () => (localStorage.getItem('own') === '1' ? own : null);
}`;
