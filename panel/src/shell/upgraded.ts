/**
 * Whether the service has a newer panel than this tab: a chunk of the old one is gone, or the version has changed. The version is
 * looked at when somebody comes back to the tab, when the service is back after it was away, and now and then.
 */

import { type PanelConfig, readConfig } from '../session/config.ts';
import { Store, useStore } from './store.ts';

const EVERY_MS = 300_000;

const upgraded = new Store(false);
let version: string | null = null;

/** Called once: `config` is of the panel in this tab. */
export function watchForUpgrades(config: PanelConfig): void {
  ({ version } = config);
  addEventListener('vite:preloadError', () => upgraded.set(true));
  document.addEventListener('visibilitychange', lookForUpgrade);
  setInterval(lookForUpgrade, EVERY_MS);
}

/** Asks the service for its version, while somebody can see the answer. */
export function lookForUpgrade(): void {
  if (version === null || upgraded.value || document.visibilityState !== 'visible') return;
  readConfig().then(
    (config) => config.version !== version && upgraded.set(true),
    // The service is away: the requests of the page say so.
    () => undefined,
  );
}

export function useUpgraded(): boolean {
  return useStore(upgraded);
}
