// Subscribes this browser, and tells Usher. What fails is said in words, with the fix: problems.js.

import { noAnswer, notSubscribed, Problem, refuseBrowser, refusedBy, refusePermission } from './problems.js';

const field = (id) => document.getElementById(id);
const usher = () => field('usher').value.trim().replace(/\/+$/, '');

function say(text, fix = '') {
  field('said').textContent = text;
  field('fix').textContent = fix;
}

async function ask(method, path, body) {
  const token = field('token').value.trim();
  if (token === '') throw new Problem('There is no token.', 'Paste the one that step 2 of the README makes.');
  const response = await fetch(`${usher()}/api/profile/me/push/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(async () => {
    throw noAnswer(usher(), location.origin, await answers());
  });
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  throw refusedBy(usher(), response.status, answer, body?.subscription?.endpoint);
}

/** Whether something answers where Usher should be; null where that cannot be told. */
async function answers() {
  const told = await fetch(`answers?at=${encodeURIComponent(usher())}`).catch(() => null);
  return told?.ok ? await told.json() : null;
}

async function takePushes() {
  refuseBrowser(globalThis);
  refusePermission(await Notification.requestPermission());
  const worker = await navigator.serviceWorker.register('sw.js');
  await navigator.serviceWorker.ready;
  const { data } = await ask('GET', 'vapid-key');
  const options = { userVisibleOnly: true, applicationServerKey: bytesOf(data.vapidPublicKey) };
  const subscription = await worker.pushManager
    .subscribe(options)
    .catch(async (error) => {
      // Subscribed with another key before: a subscription is bound to its key.
      const old = await worker.pushManager.getSubscription();
      if (old === null) throw error;
      await old.unsubscribe();
      return await worker.pushManager.subscribe(options);
    })
    .catch((error) => {
      throw notSubscribed(error);
    });
  const { data: stored } = await ask('POST', 'subscribe', {
    subscription: subscription.toJSON(),
    deviceLabel: navigator.userAgent.slice(0, 200),
  });
  return `This browser takes pushes, as subscription ${stored.id}. Send one now: step 4 of the README.`;
}

async function noMore() {
  const worker = await navigator.serviceWorker.getRegistration();
  const subscription = await worker?.pushManager.getSubscription();
  if (!subscription) return 'This browser has no subscription.';
  await ask('POST', 'unsubscribe', { endpoint: subscription.endpoint });
  await subscription.unsubscribe();
  return 'This browser takes no more pushes.';
}

function bytesOf(base64url) {
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

for (const [button, action] of [
  ['on', takePushes],
  ['off', noMore],
]) {
  field(button).addEventListener('click', () => {
    say('…');
    action().then(
      (done) => say(done),
      (error) => say(error.message, error.fix ?? 'The console of the browser has more.'),
    );
  });
}
