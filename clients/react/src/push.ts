/** Web Push: the browser's subscription, and the service's record of it. */

import type { Api } from './api.ts';
import { isRecord, UsherError } from './errors.ts';

export interface PushOptions {
  /** The address of the service worker, on the page's origin. */
  readonly serviceWorker: string;
  /** By which the person knows this browser. At most 200 characters. */
  readonly deviceLabel: string;
}

const PUSH = '/api/profile/me/push';

/** Whether this browser has Web Push, on this page: it needs https or localhost, and on an iPhone a page on the home screen. */
export function isPushSupported(): boolean {
  return (
    typeof window !== 'undefined' &&
    window.isSecureContext &&
    'serviceWorker' in navigator &&
    'PushManager' in window &&
    'Notification' in window
  );
}

/** Whether the service pushes to this browser for the person who is signed in. */
export async function isSubscribed(api: Api): Promise<boolean> {
  const subscription = await ownSubscription();
  if (subscription === null) return false;
  const { body } = await api.call('GET', `${PUSH}/subscriptions`);
  const stored = isRecord(body) && Array.isArray(body.response) ? body.response : [];
  // The browser's subscription outlives a sign-out: it may be of the person before.
  return stored.some((one: unknown) => isRecord(one) && one.endpoint === subscription.endpoint);
}

/** Subscribes this browser and tells the service. The person has to have allowed notifications. */
export async function subscribe(api: Api, { serviceWorker, deviceLabel }: PushOptions): Promise<void> {
  const registration = await navigator.serviceWorker.register(serviceWorker);
  await navigator.serviceWorker.ready;
  const { body } = await api.call('GET', `${PUSH}/vapid-key`);
  const key = isRecord(body) && isRecord(body.data) ? body.data.vapidPublicKey : undefined;
  if (typeof key !== 'string') throw new UsherError('The answer is not a VAPID key.');
  const options = { userVisibleOnly: true, applicationServerKey: bytesOf(key) };
  const subscription = await registration.pushManager.subscribe(options).catch(async (error: unknown) => {
    // Subscribed with another key before: a subscription is bound to its key.
    const old = await registration.pushManager.getSubscription();
    if (old === null) throw error;
    await old.unsubscribe();
    return await registration.pushManager.subscribe(options);
  });
  await api.call('POST', `${PUSH}/subscribe`, { body: { subscription: subscription.toJSON(), deviceLabel } });
}

/** Ends the subscription of this browser: first at the service, so that a failure leaves both as they were. */
export async function unsubscribe(api: Api): Promise<void> {
  const subscription = await ownSubscription();
  if (subscription === null) return;
  await api.call('POST', `${PUSH}/unsubscribe`, { body: { endpoint: subscription.endpoint } });
  await subscription.unsubscribe();
}

async function ownSubscription(): Promise<PushSubscription | null> {
  const registration = await navigator.serviceWorker.getRegistration();
  return (await registration?.pushManager.getSubscription()) ?? null;
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
