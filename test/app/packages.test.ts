import { afterEach, expect, test } from '@jest/globals';
import { type RunningService, startService } from '../cli/harness.ts';

/** Has a process print each heavy package when it first asks for it. */
const HOOK = `
import { registerHooks } from 'node:module';
const seen = new Set();
registerHooks({
  resolve(specifier, context, next) {
    if (['undici', 'nodemailer/lib/smtp-pool', 'web-push'].includes(specifier) && !seen.has(specifier)) {
      seen.add(specifier);
      console.error('loads ' + specifier + ';');
    }
    return next(specifier, context);
  },
});`;

let service: RunningService | undefined;
afterEach(async () => {
  await service?.stop();
  await service?.remove();
  service = undefined;
});

/** The packages that a start loads, before it says that it is ready. */
async function loadedBy(env: Record<string, string>): Promise<string[]> {
  let printed = '';
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(HOOK)}`;
  const onOutput = (text: string): void => {
    printed += text;
  };
  service = await startService({ NODE_OPTIONS, ...env }, { onOutput });
  return [...printed.matchAll(/loads ([^;]+);/g)].map((match) => match[1] ?? '').sort();
}

test('a development service loads the sending packages only when there is something to send', async () => {
  expect(await loadedBy({})).toEqual([]);
}, 60_000);

test('a service configured to send requests and auth mails has loaded their packages before it is ready', async () => {
  const loaded = await loadedBy({
    IDP_API_URL: 'http://127.0.0.1:9',
    IDP_SERVICE_ACCOUNT_TOKEN: 'a-token',
    IDP_NOTIFICATION_SIGNING_KEY: 'a-key-of-more-than-thirty-two-characters',
  });
  expect(loaded).toEqual(['nodemailer/lib/smtp-pool', 'undici']);
}, 60_000);
