import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { UsherClient } from './client.ts';
import { toUsherError, UsherError } from './errors.ts';
import { useClient } from './provider.tsx';
import { isPushSupported, isSubscribed, type PushOptions, subscribe, unsubscribe } from './push.ts';

export interface UsePushOptions {
  /** The address of the service worker, on the page's origin. `/push-worker.js` by default: a copy of `@usher-service/react/push-worker.js`. */
  readonly serviceWorker?: string | undefined;
  /** By which the person knows this browser in a list; the browser's own words by default. */
  readonly deviceLabel?: string | undefined;
}

export interface UsePush {
  /** Whether this browser has Web Push on this page. */
  readonly supported: boolean;
  /** What the person has answered to the browser's question. `denied` can only be changed in the browser's settings. */
  readonly permission: NotificationPermission;
  /** Whether the service pushes to this browser for this person; null until that is known. */
  readonly subscribed: boolean | null;
  /** Whether something is under way. */
  readonly busy: boolean;
  /** Why the last attempt failed; null when it succeeded. */
  readonly error: UsherError | null;
  /** Asks the person, subscribes this browser and tells the service. Call it from a press of a button: browsers demand one. Never rejects. */
  readonly subscribe: () => Promise<void>;
  /** Ends it. Call it before a sign-out, or the next person at this browser sees the pushes. Never rejects. */
  readonly unsubscribe: () => Promise<void>;
}

interface PushState {
  readonly permission: NotificationPermission;
  readonly subscribed: boolean | null;
  readonly busy: boolean;
  readonly error: UsherError | null;
}

const NOTHING: PushState = { permission: 'default', subscribed: null, busy: false, error: null };

/** Web Push for the person who is signed in, in this browser. */
export function usePush({ serviceWorker = '/push-worker.js', deviceLabel }: UsePushOptions = {}): UsePush {
  const client = useClient();
  const [supported, setSupported] = useState(false);
  const [{ owner, state }, setHeld] = useState({ owner: client, state: NOTHING });
  const change = useCallback(
    (changed: Partial<PushState>) =>
      setHeld((held) => ({ owner: client, state: { ...(held.owner === client ? held.state : NOTHING), ...changed } })),
    [client],
  );
  // Only the latest attempt speaks: a late answer about the person before, or from before a press, says nothing of now.
  const latest = useRef(0);
  const attempt = useCallback(
    async (act: () => Promise<boolean>) => {
      const mine = ++latest.current;
      const end = (changed: Partial<PushState>): void => {
        if (mine === latest.current) change({ ...changed, busy: false, permission: Notification.permission });
      };
      change({ busy: true });
      try {
        end({ subscribed: await act(), error: null });
      } catch (error) {
        end({ error: toUsherError(error) });
      }
    },
    [change],
  );
  useEffect(() => {
    // Not while rendering: a server has no answer.
    setSupported(isPushSupported());
    if (isPushSupported() && client.isSignedIn) void attempt(() => isSubscribed(client.api));
  }, [client, attempt]);
  const shown = owner === client ? state : NOTHING;
  return useMemo(
    () => ({
      ...shown,
      supported,
      subscribe: () => attempt(() => subscribeHere(client, { serviceWorker, deviceLabel: labelOf(deviceLabel) })),
      unsubscribe: () => attempt(() => unsubscribe(client.api).then(() => false)),
    }),
    [shown, supported, attempt, client, serviceWorker, deviceLabel],
  );
}

async function subscribeHere({ api }: UsherClient, options: PushOptions): Promise<true> {
  if (!isPushSupported()) throw new UsherError('This browser has no Web Push on this page.', { code: 'NOT_SUPPORTED' });
  const answer = await Notification.requestPermission();
  if (answer !== 'granted') {
    throw new UsherError('Notifications are not allowed for this page.', { code: 'NOT_ALLOWED' });
  }
  await subscribe(api, options);
  return true;
}

function labelOf(given: string | undefined): string {
  return (given ?? navigator.userAgent).slice(0, 200);
}
