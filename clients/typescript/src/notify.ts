/** Notifications to people, over REST: inbox, e-mail and push, as their types and preferences say. */

import { type Faults, type Members, requiredText, type Shape } from './faults.ts';
import { textsOf } from './questions.ts';
import { originOf, refused, tried } from './rest.ts';
import { readDeadline, readKey, readSettings, readUrl } from './settings.ts';
import { within } from './within.ts';

export interface NotifierOptions {
  /** Of the gateway, such as `https://usher.example.com`. */
  readonly url: string;
  /** With the scope `notify`. */
  readonly key: string;
  /** Milliseconds for an answer; 5,000 by default. */
  readonly deadlineMs?: number | undefined;
}

export interface Notification {
  /** The code of the application that sends it. */
  readonly app: string;
  /** Addresses, 1 to 1,000. */
  readonly to: readonly string[];
  /** `generic` by default. */
  readonly type?: string | undefined;
  readonly subject?: string | undefined;
  readonly body?: string | undefined;
  /** A URL, or a path of the application; so is `icon`. */
  readonly url?: string | undefined;
  readonly icon?: string | undefined;
  /** A language for all; without one each person's own. */
  readonly locale?: string | undefined;
  readonly templateKey?: string | undefined;
  /** Of the type's template. */
  readonly payload?: Readonly<Record<string, unknown>> | undefined;
  /** The same key again sends nothing again. Without one a retry could: then nothing is retried. */
  readonly idempotencyKey?: string | undefined;
}

/** What became of it for each address. */
export interface Accepted {
  readonly id: string | number;
  readonly email: string;
  readonly status: string;
  readonly statusReason: string | null;
}

export interface Notifier {
  /** Resolves once the service has stored it: then it will be delivered. Rejects with UsherError. */
  notify(notification: Notification): Promise<readonly Accepted[]>;
}

const DEADLINE_MS = 5000;
const PATH = '/api/internal/notifications';

const SHAPE: Shape = {
  name: 'what a notifier is made with',
  members: ['url', 'key', 'deadlineMs'],
  meant: { address: 'write url, of the gateway', apiKey: 'write key' },
};
const NOTIFICATION: Shape = {
  name: 'a notification',
  members: [
    'app',
    'to',
    'type',
    'subject',
    'body',
    'url',
    'icon',
    'locale',
    'templateKey',
    'payload',
    'idempotencyKey',
  ],
  meant: { appCode: 'write app', recipients: 'write to', text: 'write body', link: 'write url', data: 'write payload' },
};

/** Throws InvalidQuestionError for options that it does not know or cannot read; `notify` rejects with it likewise. */
export function createNotifier(options: NotifierOptions): Notifier {
  const { origin, key, deadlineMs } = readSettings(options, 'options', SHAPE, settingsOf);
  return {
    notify: async (notification) => {
      const { app, to, ...rest } = readSettings(notification, 'notification', NOTIFICATION, notificationOf);
      const body = JSON.stringify({ appCode: app, recipients: to, ...rest });
      const isRepeatable = rest.idempotencyKey !== undefined;
      return await within(deadlineMs, undefined, (signal) =>
        tried(() => send(origin + PATH, key, body, signal), { origin, isRepeatable, signal }),
      );
    },
  };
}

function settingsOf(members: Members, faults: Faults) {
  const origin = originOf(members, faults, readUrl(members, faults));
  if (!members.has('key')) faults.add('key', 'is required');
  const key = readKey(members, faults) ?? '';
  return { origin, key, deadlineMs: readDeadline(members, faults) ?? DEADLINE_MS };
}

/** What it says beyond its addresses, the service reads as strictly. */
function notificationOf(members: Members, faults: Faults): Notification {
  const app = requiredText(members, 'app', '', faults);
  const to = textsOf(members.get('to'), 'to', 'addresses', faults);
  return { ...Object.fromEntries(members), app, to };
}

async function send(url: string, key: string, body: string, signal: AbortSignal): Promise<readonly Accepted[]> {
  const headers = { 'content-type': 'application/json', 'x-internal-api-key': key };
  const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
  if (!response.ok) throw refused(response, await response.text());
  const answer = (await response.json()) as { readonly data: { readonly notifications: readonly Accepted[] } };
  return answer.data.notifications;
}
