import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PushSubscriptions } from '../../src/delivery/subscriptions.ts';

const FOLDER = join(import.meta.dirname, '../../examples/web-push');

type Problem = Error & { fix: string };
interface Problems {
  refuseBrowser(scope: object): void;
  refusePermission(permission: string): void;
  refusedBy(usher: string, status: number, body: unknown, endpoint?: string): Problem;
  notSubscribed(error: Error): Problem;
  noAnswer(usher: string, origin: string, answers: boolean | null): Problem;
}
// A script of a browser: it has no types.
const problems = (await import(join(FOLDER, 'problems.js'))) as Problems;

const AT = 'http://localhost:8080';
const words = ({ message, fix }: Problem) => `${message} ${fix}`;
const thrown = (run: () => void): string => {
  try {
    run();
  } catch (error) {
    return words(error as Problem);
  }
  return 'nothing';
};

test('without VAPID keys the example explains the three variables', () => {
  let message = '';
  try {
    new PushSubscriptions({ publicKey: null } as ConstructorParameters<typeof PushSubscriptions>[0]).vapidKey();
  } catch (error) {
    ({ message } = error as Error);
  }
  expect(words(problems.refusedBy(AT, 503, { message }))).toMatch(
    /^Usher has no VAPID keys, .* PUSH_PUBLIC_KEY, PUSH_PRIVATE_KEY and PUSH_SUBJECT\.$/,
  );
});

test.each([
  [
    401,
    { message: 'The token has expired.' },
    /^Usher does not take the token: The token has expired\. Make a new one/,
  ],
  [
    409,
    { message: 'x', details: { code: 'ENDPOINT_TAKEN' } },
    /^Another user takes pushes in this browser\. Press "No more"/,
  ],
  [503, { message: 'The database is away.' }, /^The database is away\. Try again in a moment\.$/],
  [403, { message: 'This account is not active.' }, /^Usher refused \(403\): This account is not active\./],
  [200, null, /^http:\/\/localhost:8080 answered 200, but not as Usher does\. Check the address/],
  [502, { error: 'bad gateway' }, /answered 502, but not as Usher does\. Check the address/],
])('the example explains the answer %d with the fix', (status, body, expected) => {
  expect(words(problems.refusedBy(AT, status, body))).toMatch(expected);
});

test('the example distinguishes a refused, a dismissed and a granted permission', () => {
  expect(thrown(() => problems.refusePermission('denied'))).toMatch(/^Notifications are blocked for this page\./);
  expect(thrown(() => problems.refusePermission('default'))).toMatch(/^You closed the question .* choose "Allow"\.$/);
  expect(thrown(() => problems.refusePermission('granted'))).toBe('nothing');
});

test('the example explains a browser without Web Push, or a page without https, before asking', () => {
  const location = { origin: 'http://192.168.1.5:8090' };
  const able = { isSecureContext: true, navigator: { serviceWorker: {} }, PushManager: {}, Notification: {}, location };
  expect(thrown(() => problems.refuseBrowser(able))).toBe('nothing');
  expect(thrown(() => problems.refuseBrowser({ ...able, isSecureContext: false }))).toContain(
    'this page is on http://192',
  );
  expect(thrown(() => problems.refuseBrowser({ ...able, navigator: {} }))).toMatch(/^This browser has no Web Push\./);
});

test('the example explains a missing answer as an outage, a refused origin, or either', () => {
  const origin = 'http://localhost:8090';
  expect(words(problems.noAnswer(AT, origin, false))).toMatch(
    /^Nothing answers at http:\/\/localhost:8080\. Start Usher/,
  );
  expect(words(problems.noAnswer(AT, origin, true))).toContain(
    '(CORS). Start Usher so that it lets this page in: CORS_ORIGINS=http://localhost:8090',
  );
  expect(words(problems.noAnswer(AT, origin, null))).toMatch(/it is not running, or it refuses pages of/);
});

test("the example's server sends requests of its own page only", async () => {
  const usher = createServer((_request, response) => response.end('ok')).listen(0, 'localhost');
  await once(usher, 'listening');
  const at = `http://localhost:${(usher.address() as AddressInfo).port}`;
  const free = createServer().listen(0, 'localhost');
  await once(free, 'listening');
  const { port } = free.address() as AddressInfo;
  free.close();
  await once(free, 'close');
  const example = spawn(process.execPath, [join(FOLDER, 'serve.js'), String(port)], { stdio: 'pipe' });
  try {
    await once(example.stdout, 'data');
    const ask = async (headers: Record<string, string>, target = at) => {
      const path = `/answers?at=${encodeURIComponent(target)}`;
      const [answer] = await once(request({ host: 'localhost', port, path, headers }).end(), 'response');
      return [answer.statusCode, (await answer.toArray()).join('')];
    };
    const own = { host: `localhost:${port}`, 'sec-fetch-site': 'same-origin' };
    expect(await ask(own)).toEqual([200, 'true']);
    expect(await ask(own, 'no address')).toEqual([200, 'false']);
    expect(await ask({ host: own.host })).toEqual([404, '']);
    expect(await ask({ ...own, 'sec-fetch-site': 'cross-site' })).toEqual([404, '']);
    expect(await ask({ ...own, host: `evil.example.com:${port}` })).toEqual([404, '']);
  } finally {
    example.kill();
    usher.close();
  }
});
