import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';

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

export interface RunningBrowser {
  readonly context: BrowserContext;
  close(): Promise<void>;
}

/** The machine's own Chromium, headless, with an empty profile. `CHROMIUM` names another than the usual places. */
export async function startChromium(): Promise<RunningBrowser> {
  const executablePath = process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place));
  if (executablePath === undefined) throw new Error('no Chromium: install one, or name it in CHROMIUM');
  const profile = await mkdtemp(join(tmpdir(), 'usher-browser.'));
  const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args: ARGUMENTS });
  return {
    context,
    close: async () => {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
