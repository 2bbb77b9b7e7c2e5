import { lookup } from 'node:dns/promises';
import { systemClock as clock } from '../../base/clock.ts';
import type { Config } from '../../config/config.ts';
import { subjectProblem } from '../../delivery/push-subject.ts';
import { createProvider } from '../../identity/provider.ts';
import { OPERATOR_POLICY, type Outbound } from '../../outbound/outbound.ts';
import type { Findings } from './finding.ts';
import { checkCalls } from './provider-calls.ts';
import { problemOf } from './proxy.ts';

const TIMEOUT_MS = 5000;
const MAX_BYTES = 256 * 1024;
/** Tokens are refused when a clock is off by more than this (identity/tokens.ts). */
const SKEW_MS = 5000;

/** The issuer's metadata and keys, read as a start reads them, and its clock. */
export async function checkProvider(
  config: Config,
  { outbound, isDevelopment }: { outbound: Outbound; isDevelopment: boolean },
  to: Findings,
): Promise<void> {
  const { auth, idp } = config;
  const { issuer } = auth;
  if (issuer === null) {
    if (isDevelopment) to.ok('the local issuer, for development');
    return;
  }
  const log = { warn: () => undefined };
  try {
    const { keys } = await createProvider({ auth: { ...auth, issuer }, outbound, clock, log }).keys.get();
    to.ok(`${issuer} answers, with ${keys.length} keys`);
  } catch (error) {
    const words = error instanceof Error ? error.message : 'no answer';
    to.fail(
      `${issuer}: ${words}`,
      'Check auth.issuer (AUTH_ISSUER) letter by letter, auth.jwksUrl, and the way to it.',
    );
    return;
  }
  const sent = Date.now();
  const url = auth.jwksUrl ?? `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const request = { url, policy: OPERATOR_POLICY, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
  const theirs = Date.parse((await outbound.send(request)).header('date') ?? '');
  // The header has whole seconds.
  const skewMs = theirs + 500 - (sent + Date.now()) / 2;
  if (Math.abs(skewMs) > SKEW_MS) {
    const found = `the clock of the provider differs from this one by ${Math.round(skewMs / 1000)} s`;
    to.warn(found, 'Synchronize this machine (NTP): tokens are refused before and after their time.');
  } else if (!Number.isNaN(skewMs)) to.ok('its clock agrees with this one');
  if (idp.apiUrl !== null) await checkApi(idp.apiUrl, outbound, to);
  await checkCalls(config, outbound, to);
}

async function checkApi(url: string, outbound: Outbound, to: Findings): Promise<void> {
  const request = { url, policy: OPERATOR_POLICY, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
  await outbound.send(request).then(
    () => to.ok(`${url} answers`),
    (error: Error) => to.fail(`${url}: ${error.message}`, 'Check idp.apiUrl (IDP_API_URL).'),
  );
}

const PUSH_HOSTS = ['fcm.googleapis.com', 'updates.push.services.mozilla.com', 'web.push.apple.com'];

export async function checkPush(config: Config, outbound: Outbound, to: Findings): Promise<void> {
  const { push, production } = config;
  if (push.publicKey === null) {
    if (production) to.warn('no VAPID keys: push answers 503', 'Set push.publicKey, push.privateKey and push.subject.');
    else to.ok('the VAPID pair in dataDir, for development');
    return;
  }
  // A start refuses keys that do not fit each other, and so did the check of the configuration.
  to.ok('the VAPID keys belong to each other');
  const problem = push.subject === null ? null : subjectProblem(push.subject);
  if (problem !== null)
    to.warn(`push.subject ${problem}`, 'Set push.subject to an address that push services can write to.');
  if (config.outbound.proxy === null) await checkNames(to);
  else await checkByProxy(outbound, to);
}

/** The proxy looks their names up. */
async function checkByProxy(outbound: Outbound, to: Findings): Promise<void> {
  const problems = await Promise.all(PUSH_HOSTS.map((host) => problemOf(outbound, `https://${host}/`)));
  const missing = PUSH_HOSTS.flatMap((host, at) => (problems[at] === null ? [] : [`${host} (${problems[at]})`]));
  if (missing.length === 0) to.ok('push services answer by the proxy');
  else to.warn(`not reached: ${missing.join(', ')}`, 'Let the proxy pass requests to them, or pushes fail.');
}

async function checkNames(to: Findings): Promise<void> {
  const found = await Promise.allSettled(PUSH_HOSTS.map((host) => lookup(host)));
  const missing = PUSH_HOSTS.filter((_, index) => found[index]?.status === 'rejected');
  if (missing.length === 0) to.ok('the names of push services are found');
  else to.warn(`not found: ${missing.join(', ')}`, 'Let this machine resolve and reach them, or pushes fail.');
}
