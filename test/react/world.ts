import { afterAll, afterEach, beforeAll, jest } from '@jest/globals';
import { UsherClient, type UsherClientOptions } from '../../clients/react/src/client.ts';
import { keyOf } from '../../clients/react/src/questions.ts';
import type { PermissionQuestion, PermissionState } from '../../clients/react/src/types.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

export const BATCH = '/api/profile/me/check/batch';
export const STREAM = '/api/profile/me/permissions/stream';

/** A shop that is strict about codes, with a role that gives everything. */
export const SHOP = {
  application: { code: 'shop', name: 'Shop', strictCodes: true },
  entities: [{ code: 'order', name: 'Order' }],
  permissions: [
    { code: 'read', type: 'binary' },
    { code: 'order.access', type: 'tiered' },
  ],
  roles: [{ code: 'reader', permissions: { read: 'allowed', 'order.access': 'view' } }],
};

/** What an administrator does to the shop. */
export async function openShop(usher: RunningUsher) {
  const root = await Rest.as(usher, 'admin@example.com');
  const done = async (method: string, path: string, body?: unknown): Promise<void> => {
    const { status, body: said } = await root.send(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(said)}`);
  };
  await done('POST', '/api/manifests/apply', SHOP);
  return {
    give: (email: string) => done('POST', `/api/users/${email}/apps/shop/roles`, { role: 'reader' }),
    take: (email: string) => done('DELETE', `/api/users/${email}/apps/shop/roles/reader`),
    setActive: (email: string, active: boolean) => done('PUT', `/api/users/${email}/active`, { active }),
    define: (code: string) => done('POST', '/api/applications/shop/permissions', { code, type: 'binary' }),
    send: (email: string, subject: string) =>
      done('POST', '/api/applications/shop/notifications', { recipients: [email], subject, body: 'Look.' }),
  };
}

/** A service with the shop, for all tests of a file. */
export function useShop() {
  let storage: TestStorage;
  let usher: RunningUsher;
  let shop: Awaited<ReturnType<typeof openShop>>;
  let people = 0;
  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage);
    shop = await openShop(usher);
  }, 120_000);
  afterEach(() => {
    closeClients();
    jest.restoreAllMocks();
  });
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  });
  return {
    get storage() {
      return storage;
    },
    get usher() {
      return usher;
    },
    get shop() {
      return shop;
    },
    /** Somebody new, with the role. */
    hire: async (): Promise<{ email: string; token: string }> => {
      people++;
      const email = `person${people}@example.com`;
      await shop.give(email);
      return { email, token: await usher.token(email) };
    },
  };
}

/**
 * What is requested from now on, by path. `delay` holds a request back, or answers it in place of the service; `isDeaf` sends it to
 * the end, also when the page no longer wants it.
 */
export function listen(
  delay: (path: string) => Promise<unknown> = async () => undefined,
  { isDeaf = false } = {},
): string[] {
  const paths: string[] = [];
  const real = globalThis.fetch;
  jest.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const path = new URL(input instanceof Request ? input.url : input).pathname;
    paths.push(path);
    const answer = await delay(path);
    return answer instanceof Response ? answer : await real(input, isDeaf ? { ...init, signal: null } : init);
  });
  return paths;
}

const opened: (() => void)[] = [];

/** Stops every client of the test. */
export function closeClients(): void {
  for (const close of opened.splice(0)) close();
}

/** A client that has begun, as a page's provider makes it. */
export function openClient(options: Omit<UsherClientOptions, 'app'>): UsherClient {
  const client = new UsherClient({ ...options, app: 'shop' });
  opened.push(client.start());
  return client;
}

/** A question that a component asks, and what it has displayed. */
export interface Shown {
  readonly now: PermissionState;
  /** Every state that was displayed, the first one included. */
  readonly all: readonly PermissionState[];
}

/** A component on the screen. */
export function show({ permissions }: UsherClient, question: PermissionQuestion): Shown {
  const key = keyOf('shop', question) ?? '';
  const all: PermissionState[] = [permissions.read(key)];
  opened.push(permissions.hold(key, () => void all.push(permissions.read(key))));
  return {
    all,
    get now() {
      return permissions.read(key);
    },
  };
}

/** Waits for what has to become true; the error says what is there instead. */
export async function until(holds: () => boolean, what: () => unknown = () => '', ms = 15_000): Promise<void> {
  const late = performance.now() + ms;
  while (!holds()) {
    if (performance.now() > late) throw new Error(`not in time: ${JSON.stringify(what())}`);
    await pause(10);
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
