/**
 * What the identity provider sends to this service: whether its e-mails and events can be verified, and whether it sends the events
 * (docs/reference/identity-provider.md#set-up-of-events).
 */

import { systemClock as clock } from '../../base/clock.ts';
import { EVENT_KEY_CONTEXT, Sealing, SIGNING_KEY_CONTEXT } from '../../brands/sealing.ts';
import type { Config } from '../../config/config.ts';
import type { Outbound } from '../../outbound/outbound.ts';
import { type ProviderSetUps, providerSetUps } from '../../persistence/operations/inspect.ts';
import { ActionsApi } from '../../provider/actions-api.ts';
import { IdpClient } from '../../provider/client.ts';
import { EVENTS_PATH } from '../../provider/event-actions.ts';
import { NATIVE_EVENTS } from '../../provider/native-event.ts';
import type { Findings } from './finding.ts';

const SET_UP_MAILS = 'POST /api/idp/admin/notification-provider/setup';
const SET_UP_EVENTS = 'POST /api/idp/admin/actions/setup';

export async function checkCalls(config: Config, outbound: Outbound, to: Findings): Promise<void> {
  const { brandSmtpKeys, database, idp } = config;
  // That the database cannot be reached is told once, by its own check. An embedded one is not opened.
  const kept = database.url === null ? null : await providerSetUps(database.url).catch(() => null);
  const sealing = new Sealing(brandSmtpKeys, clock);
  const isLost = (context: string, sealed: string | undefined | null) =>
    typeof sealed === 'string' && sealing.openText(context, sealed) === null;
  const mails = { what: 'its e-mails', isConfigured: idp.notificationSigningKey !== null, again: SET_UP_MAILS };
  checkKey({ ...mails, isStored: Boolean(kept?.mailKey), isLost: isLost(SIGNING_KEY_CONTEXT, kept?.mailKey) }, to);
  const target = kept?.target ?? null;
  const events = { what: 'its events', isConfigured: idp.eventSigningKeys.length > 0, again: SET_UP_EVENTS };
  checkKey({ ...events, isStored: target !== null, isLost: isLost(EVENT_KEY_CONTEXT, target?.key) }, to);
  if (kept !== null && idp.apiUrl !== null) await checkTarget(config, target, outbound, to);
}

interface SigningKey {
  readonly what: string;
  readonly isConfigured: boolean;
  readonly isStored: boolean;
  /** Whether it was sealed with a key that is not configured. */
  readonly isLost: boolean;
  /** The set-up that stores a new one. */
  readonly again: string;
}

/** Without any key nothing is expected: the provider sends its own e-mails, and a webhook may tell of people. */
function checkKey({ what, isConfigured, isStored, isLost, again }: SigningKey, to: Findings): void {
  if (isConfigured) to.ok(`${what} can be verified, by a configured key`);
  else if (isLost) {
    const advice = `Put it back into brandSmtpKey (BRAND_SMTP_KEY), or repeat ${again}.`;
    to.fail(`${what} cannot be verified: their key was sealed with a key that is not configured`, advice);
  } else if (isStored) to.ok(`${what} can be verified, by the key that set-up stored`);
}

/** Whether the provider's own events come here: else only a webhook or a comparison tells who was deactivated. */
async function checkTarget(
  { idp, publicUrl }: Config,
  target: ProviderSetUps['target'],
  outbound: Outbound,
  to: Findings,
): Promise<void> {
  if (target === null) {
    // A target that somebody made by hand is known by its key alone.
    if (idp.eventSigningKeys.length > 0) return;
    const advice = `${SET_UP_EVENTS} makes target and executions: docs/guides/identity-provider.md.`;
    to.warn('no target and executions at the provider send its events here', advice);
    return;
  }
  const again = `Repeat ${SET_UP_EVENTS}.`;
  if (!target.complete) {
    to.warn('the set-up of its events was not completed', again);
    return;
  }
  const client = new IdpClient({ idp, outbound });
  if (!client.configured) return;
  const actions = new ActionsApi(client);
  try {
    const there = await actions.target(target.id);
    const wanted = publicUrl === null ? null : publicUrl + EVENTS_PATH;
    if (there === null) to.warn('the target of its events is gone at the provider', again);
    else if (wanted !== null && there.endpoint !== wanted) {
      to.warn(`its events are sent to ${there.endpoint}, and ${wanted} is here`, again);
    } else {
      const sent = await actions.subscribed(NATIVE_EVENTS, target.id);
      if (sent < NATIVE_EVENTS.length) {
        to.warn(`of ${NATIVE_EVENTS.length} types of its events ${sent} are sent here`, again);
      } else to.ok('its events are sent here, by a target that set-up made');
    }
  } catch (error) {
    const words = error instanceof Error ? error.message : 'no answer';
    to.fail(`its targets cannot be read: ${words}`, 'Check idp.serviceAccountToken and the rights of its account.');
  }
}
