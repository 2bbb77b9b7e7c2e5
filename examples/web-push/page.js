// Subscribes this browser, and tells Usher.

const field = (id) => document.getElementById(id);
const say = (text) => {
  field('said').textContent = text;
};

async function ask(method, path, body) {
  const response = await fetch(`${field('usher').value}/api/profile/me/push/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${field('token').value.trim()}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

async function takePushes() {
  if ((await Notification.requestPermission()) !== 'granted') throw new Error('The browser was not given permission.');
  const worker = await navigator.serviceWorker.register('sw.js');
  await navigator.serviceWorker.ready;
  const { data } = await ask('GET', 'vapid-key');
  const options = { userVisibleOnly: true, applicationServerKey: bytesOf(data.vapidPublicKey) };
  const subscription = await worker.pushManager.subscribe(options).catch(async (error) => {
    // Subscribed with another key before: a subscription is bound to its key.
    const old = await worker.pushManager.getSubscription();
    if (old === null) throw error;
    await old.unsubscribe();
    return await worker.pushManager.subscribe(options);
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
    action().then(say, (error) => say(error.message));
  });
}
