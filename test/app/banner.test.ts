import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { serve } from '../../src/app/serve.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { toConfig } from '../../src/config/config.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { databaseEnv } from '../support/postgres.ts';

let storage: TestStorage;
beforeAll(async () => {
  storage = await createStorage('postgresql');
}, 60_000);
afterAll(async () => {
  await storage?.remove();
});

/** What a start prints for people, and what `look` makes of the service meanwhile. */
async function started<T>(env: Record<string, string>, look: (text: string) => Promise<T>): Promise<[string, T]> {
  const config = toConfig({
    env: { HTTP_PORT: '0', GRPC_PORT: '0', DATA_DIR: storage.dataDir, ...databaseEnv(storage.url), ...env },
  });
  const stop = Promise.withResolvers<string>();
  const printed = Promise.withResolvers<string>();
  const served = serve({
    config,
    print: printed.resolve,
    stopped: stop.promise,
    version: '1.2.3',
    parts: { log: createLogger('silent') },
  });
  served.catch(printed.reject);
  try {
    const text = await printed.promise;
    return [text, await look(text)];
  } finally {
    stop.resolve('SIGTERM');
    await served;
  }
}

/** The lines about a browser. */
const browserLines = (text: string): string[] => {
  const lines = text.split('\n');
  const from = lines.indexOf('And in a browser:');
  return lines.slice(from + 2, lines.indexOf('', from + 2));
};

describe('what a start prints about a browser', () => {
  test('the first line is a link to the panel, whose code signs in', async () => {
    const [text, status] = await started({}, async (banner) => {
      const url = new URL(/Open the panel: (\S+)/.exec(banner)?.[1] ?? '');
      const answer = await fetch(`${url.origin}/panel/config.json`);
      expect(await answer.json()).toMatchObject({ signIn: 'development', publicUrl: url.origin, version: '1.2.3' });
      const headers = { 'sec-fetch-site': 'same-origin' };
      return (await fetch(`${url.origin}/dev/sign-in${url.search}`, { headers })).status;
    });
    expect(status).toBe(200);
    expect(browserLines(text)).toEqual([
      expect.stringMatching(/^ {2}Open the panel: http:\/\/localhost:\d+\/panel\/\?code=[\w-]{32}$/),
      expect.stringMatching(/^ {2}http:\/\/localhost:\d+\/api\/docs /),
      expect.stringMatching(/^ {2}http:\/\/localhost:\d+\/dev\/mail /),
    ]);
  }, 60_000);

  test('with an identity provider the link has no code, and a disabled panel has no link', async () => {
    const provider = { AUTH_ISSUER: 'https://idp.example.com', AUTH_AUDIENCE: 'usher' };
    const [text] = await started({ ...provider, PUBLIC_URL: 'http://localhost:8080' }, async () => null);
    expect(browserLines(text)[0]).toBe('  Open the panel: http://localhost:8080/panel/');
    const [without] = await started({ PANEL_ENABLED: 'false' }, async () => null);
    expect(without).not.toContain('/panel/');
    expect(browserLines(without)).toHaveLength(2);
  }, 60_000);
});
