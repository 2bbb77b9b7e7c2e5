/** A provider for each test, Jane's account in it, and tokens believed as the service does. */
import { afterEach, beforeEach } from '@jest/globals';
import { type OidcDouble, startOidc } from '../support/oidc.ts';
import { believe, type Harness, outcome } from './harness.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const AWAY =
  '503 UNAVAILABLE: The identity provider did not answer, so the access token could not be verified; try again.';
export const UNKNOWN_KEY =
  "401 UNAUTHENTICATED: The access token is signed by a key that is not in the issuer's key set.";
export const UNVERIFIED =
  '401 EMAIL_NOT_VERIFIED: The e-mail address of this account is not verified; verify it at the identity provider first.';
export const JANE = 'jane@example.com';

export let oidc: OidcDouble;
export let harness: Harness;
const endings: (() => Promise<void>)[] = [];

beforeEach(async () => {
  oidc = await startOidc();
  harness = start();
  oidc.accounts.set('jane', {
    email: JANE,
    email_verified: true,
    given_name: 'Jane',
    family_name: 'Doe',
    locale: 'cs',
  });
});
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
  await oidc.close();
});

export function start(...options: Parameters<typeof believe> extends [unknown, ...infer Rest] ? Rest : never): Harness {
  const started = believe(oidc, ...options);
  endings.push(() => started.close());
  return started;
}

export type Change = Record<string, unknown>;
export const mint = async (change: Change = {}, header: Change = {}) =>
  `Bearer ${await oidc.mint({ ...oidc.claims('jane', harness.clock.now()), ...change }, header)}`;
/** As the provider makes them by default: who it is, says userinfo. */
export const mintBare = (change: Change = {}) => mint({ email: undefined, email_verified: undefined, ...change });
export const ask = (authorization: string, of = harness) => outcome(of.tokens, authorization);
export const count = (path: string) => oidc.requests.get(path) ?? 0;

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let time = 0; time < 400; time++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('the condition was not met within 2 s');
}
