/**
 * Whether the service has a newer panel than this tab: a chunk of the old one is gone, or the version has changed. The version is
 * looked at when somebody comes back to the tab.
 */

import { useSyncExternalStore } from 'react';
import { type PanelConfig, readConfig } from '../session/config.ts';

let upgraded = false;
const listeners = new Set<() => void>();

export function watchForUpgrades(config: PanelConfig): void {
  const found = (): void => {
    upgraded = true;
    for (const listener of listeners) listener();
  };
  addEventListener('vite:preloadError', found);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible' || upgraded) return;
    readConfig().then(
      ({ version }) => version !== config.version && found(),
      // The service is away: the requests of the page say so.
      () => undefined,
    );
  });
}

export function useUpgraded(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => upgraded,
  );
}
