/** Notifications to people, over REST: inbox, e-mail and push, as their types and preferences say. */

import { kindOf, UsherError, type Violation } from './errors.ts';
import { type Faults, type Members, requiredText, type Shape } from './faults.ts';
import { textsOf } from './questions.ts';
import { readDeadline, readKey, readSettings, readUrl } from './settings.ts';

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
  readonly url?: string | undefined;
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
const TRIES = 3;
const AGAIN_MS = 200;

const SHAPE: Shape = {
  name: 'what a notifier is made with',
  members: ['url', 'key', 'deadlineMs'],
  meant: { address: 'write url, of the gateway', apiKey: 'write key' },
};
const NOTIFICATION: Shape = {
  name: 'a notification',
  members: ['app', 'to', 'type', 'subject', 'body', 'url', 'payload', 'idempotencyKey'],
  meant: { appCode: 'write app', recipients: 'write to', text: 'write body', link: 'write url', data: 'write payload' },
};

/** Throws InvalidQuestionError for options that it does not know or cannot read; `notify` rejects with it likewise. */
export function createNotifier(options: NotifierOptions): Notifier {
  const { endpoint, key, deadlineMs } = readSettings(options, 'options', SHAPE, settingsOf);
  return {
    notify: async (notification) => {
      const { app, to, ...rest } = readSettings(notification, 'notification', NOTIFICATION, notificationOf);
      const body = JSON.stringify({ appCode: app, recipients: to, ...rest });
      const signal = AbortSignal.timeout(deadlineMs);
      for (let tries = rest.idempotencyKey === undefined ? 1 : TRIES; ; tries--) {
        try {
          return await send(endpoint, key, body, signal);
        } catch (error) {
          if (tries <= 1 || !isWorthAnother(error) || signal.aborted) throw toError(error);
        }
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS * (0.5 + Math.random() / 2)));
      }
    },
  };
}

function settingsOf(members: Members, faults: Faults) {
  const url = readUrl(members, faults);
  if (!members.has('key')) faults.add('key', 'is required');
  const key = readKey(members, faults) ?? '';
  const deadlineMs = readDeadline(members, faults) ?? DEADLINE_MS;
  faults.throwIfAny();
  return { endpoint: new URL('/api/internal/notifications', url), key, deadlineMs };
}

/** What it says beyond its addresses, the service reads as strictly. */
function notificationOf(members: Members, faults: Faults): Notification {
  const app = requiredText(members, 'app', '', faults);
  const to = textsOf(members.get('to'), 'to', 'addresses', faults);
  return { ...Object.fromEntries(members), app, to };
}

async function send(endpoint: URL, key: string, body: string, signal: AbortSignal): Promise<readonly Accepted[]> {
  const headers = { 'content-type': 'application/json', 'x-internal-api-key': key };
  const response = await fetch(endpoint, { method: 'POST', headers, body, signal, redirect: 'error' });
  const answer = (await response.json()) as Answer;
  if (response.ok) return answer.data?.notifications ?? [];
  throw refusal(response.status, answer);
}

interface Answer {
  readonly data?: { readonly notifications: readonly Accepted[] };
  readonly message?: string;
  readonly details?: { readonly code?: string; readonly issues?: readonly { path: string; message: string }[] };
  readonly requestId?: string;
}

function refusal(status: number, { message = `HTTP ${status}`, details = {}, requestId }: Answer): UsherError {
  const code = CODES[status] ?? (status >= 500 ? 'UNAVAILABLE' : 'FAILED_PRECONDITION');
  const violations: Violation[] = (details.issues ?? []).map(({ path, message: rule }) => ({
    field: path,
    message: rule,
  }));
  return new (kindOf(code))(message, { code, reason: details.code ?? code, violations, requestId });
}

/** The statuses of gRPC that stand for those of HTTP. */
const CODES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ALREADY_EXISTS',
  429: 'RESOURCE_EXHAUSTED',
};

function isWorthAnother(error: unknown): boolean {
  return !(error instanceof UsherError) || error.code === 'UNAVAILABLE' || error.code === 'RESOURCE_EXHAUSTED';
}

function toError(error: unknown): UsherError {
  if (error instanceof UsherError) return error;
  const code = 'UNAVAILABLE';
  return new (kindOf(code))('Usher did not take the notification.', { code, reason: code, cause: error });
}
