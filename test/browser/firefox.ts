import { existsSync } from 'node:fs';
import { type Browser, launch, type Page } from 'puppeteer-core';
import type { PanelService } from './panel.ts';

/**
 * Firefox as the machine has it, by WebDriver BiDi, with no driver beside it. Playwright speaks BiDi too, but makes no context
 * without `emulation.setMediaFeaturesOverride`, which Firefox ESR does not know.
 */
const PLACES = ['/usr/bin/firefox-esr', '/usr/bin/firefox'];

/** Headless, with an empty profile, in a light or a dark theme. `FIREFOX` names another than the usual places. */
export async function launchFirefox({ dark }: { dark: boolean }): Promise<Browser> {
  const executablePath = process.env.FIREFOX ?? PLACES.find((place) => existsSync(place));
  if (executablePath === undefined) throw new Error('no Firefox: install one, or name it in FIREFOX');
  return await launch({
    browser: 'firefox',
    executablePath,
    headless: true,
    extraPrefsFirefox: { 'layout.css.prefers-color-scheme.content-override': dark ? 0 : 1 },
  });
}

/** A page of the panel, and what went wrong in it: errors of the console, exceptions, requests to other origins. */
export interface FirefoxPanel {
  readonly page: Page;
  readonly complaints: string[];
  readonly origin: string;
}

export async function openInFirefox(
  browser: Browser,
  { rest }: PanelService,
  { width }: { width: number },
): Promise<FirefoxPanel> {
  const page = await browser.newPage();
  page.setDefaultTimeout(20_000);
  await page.setViewport({ width, height: 900 });
  const complaints: string[] = [];
  const origin = rest.replace('127.0.0.1', 'localhost');
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !['data:', 'blob:', 'about:'].includes(url.protocol))
      complaints.push(`a request to ${url.href}`);
  });
  return { page, complaints, origin };
}
