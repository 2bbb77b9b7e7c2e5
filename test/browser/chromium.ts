import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';

/** Nothing of these reaches the network, or asks anything at a first start. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const SHELLS = ['/usr/bin/chromium-headless-shell'];

export interface RunningBrowser {
  readonly context: BrowserContext;
  close(): Promise<void>;
}

/** The machine's own Chromium, headless, with an empty profile. `CHROMIUM` names another than the usual places. */
export async function startChromium(): Promise<RunningBrowser> {
  const profile = await mkdtemp(join(tmpdir(), 'usher-browser.'));
  const options = { executablePath: installed(), headless: true, args: ARGUMENTS };
  const context = await chromium.launchPersistentContext(profile, options);
  return {
    context,
    close: async () => {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/** The same without a profile: for tests that need several people at once, each in a context of their own. */
export async function launchChromium(): Promise<Browser> {
  return await chromium.launch({ executablePath: installed(), headless: true, args: ARGUMENTS });
}

/**
 * The same for the tests of the panel and of the client for React, in the headless shell of Chromium where that is installed, or
 * `CHROMIUM_SHELL` names one: the same engine without windows. Chromium itself starts two processes more for the address bar of each
 * context, which nobody sees, and they cost more than the page. A test of the push manager's own subscriptions needs Chromium itself.
 */
export async function launchShell(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM_SHELL ?? SHELLS.find((place) => existsSync(place)) ?? installed();
  return await chromium.launch({ executablePath, headless: true, args: ARGUMENTS });
}

function installed(): string {
  const path = process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place));
  if (path === undefined) throw new Error('no Chromium: install one, or name it in CHROMIUM');
  return path;
}
