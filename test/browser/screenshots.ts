/**
 * Makes the pictures of README.md and docs/guides/panel.md from a service with the demonstration:
 *
 *   npm run panel && bin/node test/browser/screenshots.ts
 *
 * The folder may be given: `bin/node test/browser/screenshots.ts /tmp/pictures`. With `--all` it gets every view, in light, dark,
 * Czech and at 390 pixels, to be looked at one by one; `--hard` with data that people type where nobody expected it. `--only` names
 * views by a part of their names and looks: `--only matrix`, `--only narrow`.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { applyDemo } from '../../src/app/demo.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { launchChromium } from './chromium.ts';
import { makeHard } from './hard-world.ts';
import { openPanel, type PanelOptions, settled } from './panel.ts';
import { PICTURES, SCREENS, type Screen } from './screens.ts';

const ADMIN = 'admin@example.com';
const LOOKS: Readonly<Record<string, PanelOptions>> = {
  light: {},
  dark: { dark: true },
  czech: { locale: 'cs-CZ' },
  narrow: { width: 390 },
};

const { values, positionals } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    hard: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
  allowPositionals: true,
});
const folder = positionals[0] ?? 'docs/pictures';
const every = values.all || values.hard;
if (every && positionals[0] === undefined) throw new Error('every view needs a folder, such as /tmp/pictures');
await mkdir(folder, { recursive: true });
const dataDir = await mkdtemp(join(tmpdir(), 'usher-pictures.'));
const [usher, browser] = await Promise.all([startUsher({ url: null, dataDir }), launchChromium()]);
try {
  await applyDemo(usher.app);
  if (values.hard) await makeHard(usher);
  if (every) await takeAll(usher, browser);
  else
    for (const { dark = false, width = 1280, ...screen } of PICTURES)
      await take(usher, browser, screen, { dark, width });
} finally {
  await browser.close();
  await usher.close();
  await rm(dataDir, { recursive: true });
}

/** Every view in every look; one that cannot be reached is named, and the rest is taken. */
async function takeAll(from: RunningUsher, by: Browser): Promise<void> {
  await sendSome(from);
  for (const [look, options] of Object.entries(LOOKS)) {
    for (const screen of SCREENS.filter(({ name }) => `${name}-${look}`.includes(values.only))) {
      try {
        await take(from, by, { ...screen, name: `${screen.name}-${look}` }, options);
      } catch (error) {
        process.exitCode = 1;
        console.error(`${screen.name}-${look}: ${String(error)}`);
      }
    }
  }
}

async function take(from: RunningUsher, by: Browser, screen: Screen, options: PanelOptions): Promise<void> {
  const { name, path, act, signedOut = false } = screen;
  const panel = await openPanel(by, from, { ...options, ...(signedOut ? {} : { as: ADMIN }) });
  try {
    await panel.go(path);
    await panel.page.waitForTimeout(500);
    await act?.(panel.page);
    await settled(panel.page);
    await panel.page.screenshot({ path: join(folder, `${name}.png`) });
  } finally {
    await panel.close();
  }
}

/** Something that was sent, so that logs, inbox and mailbox are not empty. */
async function sendSome(to: RunningUsher): Promise<void> {
  const root = await Rest.as(to, ADMIN);
  for (const subject of ['Project 1042 is ready', 'Invoice 7 is due']) {
    const recipients = [ADMIN, 'ben@example.com', 'clara@example.com'];
    await root.post('/api/applications/atelier/notifications', { recipients, subject, body: 'Have a look.' });
  }
}
