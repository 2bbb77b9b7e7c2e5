// Every way in which subscribing fails: what failed, and what to do about it.

/** A failure in words: `what` happened, and the `fix`. */
export class Problem extends Error {
  constructor(what, fix) {
    super(what);
    this.fix = fix;
  }
}

/** Throws a Problem where this browser, or this address, cannot have pushes at all. */
export function refuseBrowser(scope) {
  if (!scope.isSecureContext) {
    throw new Problem(
      `The browser allows pushes on https and on localhost only, and this page is on ${scope.location.origin}.`,
      'Open it as http://localhost:8090, or serve it by https.',
    );
  }
  if (!('serviceWorker' in scope.navigator) || !('PushManager' in scope) || !('Notification' in scope)) {
    throw new Problem(
      'This browser has no Web Push.',
      'Use Chrome, Edge or Firefox outside a private window; on an iPhone add the page to the home screen first.',
    );
  }
}

/** Of the answer to `Notification.requestPermission()`. */
export function refusePermission(permission) {
  if (permission === 'granted') return;
  if (permission === 'denied') {
    throw new Problem(
      'Notifications are blocked for this page.',
      'Click the icon to the left of the address, set Notifications to "Allow", and try again. A private window always blocks them.',
    );
  }
  throw new Problem(
    'You closed the question whether this page may show notifications.',
    'Try again and choose "Allow".',
  );
}

/** Nothing came back. A page cannot tell a refused origin from a service that is away; this page's own server can. */
export function noAnswer(usher, origin, answers) {
  const start = `Start Usher so that it lets this page in: CORS_ORIGINS=${origin} npm start`;
  if (answers === true) {
    return new Problem(`${usher} answers, but it does not let pages of ${origin} read its answers (CORS).`, start);
  }
  if (answers === false) {
    return new Problem(
      `Nothing answers at ${usher}.`,
      'Start Usher (npm start), and check the address above: it is the REST address that Usher prints.',
    );
  }
  return new Problem(`No answer from ${usher}: it is not running, or it refuses pages of ${origin} (CORS).`, start);
}

/** Of an answer that is an error. `endpoint` is the subscription's, where one was sent. */
export function refusedBy(usher, status, body, endpoint) {
  const message = typeof body?.message === 'string' ? body.message : null;
  if (message === null) {
    return new Problem(
      `${usher} answered ${status}, but not as Usher does.`,
      'Check the address above: another program may listen there.',
    );
  }
  if (status === 401) {
    return new Problem(
      `Usher does not take the token: ${message}`,
      'Make a new one, for this very service, and paste it whole: npm run --silent usher -- token ada@example.com',
    );
  }
  if (status === 503 && message.includes('PUSH_PUBLIC_KEY')) {
    return new Problem(
      'Usher has no VAPID keys, so nothing can be pushed.',
      'Make a pair with "npx web-push generate-vapid-keys", and start Usher with PUSH_PUBLIC_KEY, PUSH_PRIVATE_KEY and PUSH_SUBJECT.',
    );
  }
  const issues = body.details?.issues ?? [];
  if (endpoint !== undefined && issues.some(({ path }) => path === 'subscription.endpoint')) {
    const { host } = new URL(endpoint);
    return new Problem(
      `Usher does not push to ${host}, the push service of this browser: ${message}`,
      `If you trust that host, start Usher with PUSH_ALLOWED_HOSTS=${host}`,
    );
  }
  if (body.details?.code === 'ENDPOINT_TAKEN') {
    return new Problem(
      'Another user takes pushes in this browser.',
      'Press "No more" with the token of that user, then try again.',
    );
  }
  if (status === 429 || status === 503) return new Problem(message, 'Try again in a moment.');
  return new Problem(`Usher refused (${status}): ${message}`, 'The log of Usher has more under the request id.');
}

/** Of `pushManager.subscribe`. */
export function notSubscribed(error) {
  if (error.name === 'NotAllowedError') {
    return new Problem(
      'The browser did not let this page subscribe.',
      'Allow notifications for this page: click the icon to the left of the address.',
    );
  }
  return new Problem(
    `The browser could not subscribe at its push service: ${error.message}`,
    'The browser must reach the internet. Brave has "Use Google services for push messaging" in its settings; a Chromium without Google keys has no push service.',
  );
}
