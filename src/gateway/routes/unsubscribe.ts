/** Switches a type's mail off, and on again, by the link in a mail, without a login (RFC 8058). */

import { z } from 'zod';
import type { UsherError } from '../../base/errors.ts';
import type { Config } from '../../config/config.ts';
import { MailLocked, type Subscription } from '../../notifications/unsubscribe.ts';
import { type Form, unsubscribePage } from '../pages/unsubscribe.ts';
import type { State } from '../pages/unsubscribe-words.ts';
import type { BodyFormat } from '../route/bodies.ts';
import { HTML_TYPE, JSON_TYPE, type Page, type Problem, pageAndData, text } from '../route/envelopes.ts';
import { flagParam } from '../route/fields.ts';
import { open } from '../route/guards.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

const PATH = '/api/notifications/unsubscribe';

const query = z.strictObject({
  token: z.string().max(200).meta({ description: 'From the link in the mail.' }),
  undo: flagParam.optional().meta({
    description: '`true` switches the mail on again. Only a POST changes anything.',
  }),
});

/** Any body: mail programs send `List-Unsubscribe=One-Click`, forms send others. The URL holds every parameter. */
const anything: BodyFormat<undefined> = {
  media: ['application/x-www-form-urlencoded', 'multipart/form-data', 'application/json', 'text/plain'],
  maxBytes: 4096,
  parse: () => undefined,
  optional: true,
  describe: () => ({}),
};

export function unsubscribeRoutes(settingsUrl: Config['notifications']['settingsUrl']): readonly Route[] {
  const show = (state: State, subscription: Subscription, languages: string | undefined, form: Form): Page =>
    unsubscribePage({ state, subscription, languages, settingsUrl, form });
  const problem = ({ error, languages }: Problem): Page => {
    const subscription = error instanceof MailLocked ? error.subscription : null;
    return unsubscribePage({ state: stateOf(error), subscription, languages, settingsUrl, form: null });
  };

  const showButton = defineRoute({
    method: 'get',
    path: PATH,
    operation: 'getUnsubscribePage',
    tag: 'Inbox',
    summary: 'The page with the button that unsubscribes',
    description:
      "Changes nothing, because mail scanners follow links. It has the look of the user's brand and is in their language.",
    guard: open,
    forPeople: true,
    holdsSecret: true,
    query,
    headers: ['accept-language'],
    envelope: { ...text(HTML_TYPE), problem },
    response: z.string(),
    errors: ['NOT_FOUND', 'PREFERENCE_LOCKED'],
    handle: async ({ unsubscriptions }, { query: { token, undo }, header }) => {
      const subscription = await unsubscriptions.describe(token);
      const form = formOf(token, subscription.email);
      // A form without an action posts to the page's own URL, token included.
      const here = undo === undefined && subscription.email ? { ...form, action: null } : form;
      const { page, policy } = show(subscription.email ? 'ask' : 'off', subscription, header('accept-language'), here);
      return answer(page, { policy });
    },
  });

  const unsubscribe = defineRoute({
    method: 'post',
    path: PATH,
    operation: 'unsubscribe',
    tag: 'Inbox',
    summary: "Switch off a type's mail",
    description:
      'For the user and the type that the token names; `undo=true` switches it on again. Repeating it is harmless. JSON for programs, a page for browsers.',
    guard: open,
    forPeople: true,
    holdsSecret: true,
    query,
    headers: ['accept-language'],
    body: anything,
    envelope: pageAndData('unsubscribed', [JSON_TYPE, HTML_TYPE], { problem }),
    response: z.strictObject({ data: z.strictObject({ unsubscribed: z.boolean() }), page: z.string() }),
    errors: ['NOT_FOUND', 'PREFERENCE_LOCKED'],
    handle: async ({ unsubscriptions }, { query: { token, undo = false }, header }) => {
      const subscription = await unsubscriptions.switchMail(token, undo);
      const state = undo ? 'on' : 'off';
      const { page, policy } = show(state, subscription, header('accept-language'), formOf(token, undo));
      return answer({ data: { unsubscribed: !undo }, page }, { policy });
    },
  });

  return [showButton, unsubscribe];
}

/** The button that reverses the switch. */
function formOf(token: string, isOn: boolean): Form {
  const address = `?token=${encodeURIComponent(token)}`;
  return isOn ? { does: 'unsubscribe', action: address } : { does: 'resubscribe', action: `${address}&undo=true` };
}

function stateOf({ code, reason }: UsherError): State {
  if (reason === 'PREFERENCE_LOCKED') return 'locked';
  if (code === 'NOT_FOUND') return 'gone';
  return reason === 'VALIDATION_FAILED' ? 'damaged' : 'trouble';
}
