import { afterAll, beforeAll } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { launchShell } from './chromium.ts';
import { openPanel, type PanelOptions, type PanelPage } from './panel.ts';

/** A service and a browser, for all tests of a file. */
export interface Panels {
  readonly usher: RunningUsher;
  /** The panel in a browser context of its own. */
  readonly open: (options?: PanelOptions) => Promise<PanelPage>;
}

/** Starts both before the tests, lets `fill` prepare the service, and ends both behind them. */
export function usePanel(
  database: 'pglite' | 'postgresql',
  fill: (usher: RunningUsher) => Promise<unknown> = async () => undefined,
): Panels {
  let storage: TestStorage;
  let usher: RunningUsher;
  let browser: Browser;
  beforeAll(async () => {
    [storage, browser] = await Promise.all([createStorage(database), launchShell()]);
    usher = await startUsher(storage);
    await fill(usher);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await usher?.close();
    await storage?.remove();
  });
  return {
    get usher() {
      return usher;
    },
    open: (options) => openPanel(browser, usher, options),
  };
}
