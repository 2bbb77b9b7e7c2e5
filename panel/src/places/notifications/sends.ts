/** Notifications as they were sent, and what may be done with them. */

import type { Out } from '../../../../src/gen/api.ts';
import { mayWriteIn, PROVIDER_TYPE } from '../../shell/panel-app.ts';
import type { Rights } from '../../shell/rights.ts';
import { variablesIn } from '../applications/messages/variants.ts';

export type Sent = Out<'GET /api/admin/notifications'>[number];
export type Delivery = Sent['deliveries'][number];

export const STATUSES = ['queued', 'sent', 'partial', 'failed', 'suppressed'] as const;
export type Status = (typeof STATUSES)[number];

export const TONES = { queued: 'accent', sent: 'good', partial: 'warn', failed: 'bad', suppressed: 'neutral' } as const;

export function toneOf(status: string): (typeof TONES)[Status] {
  return TONES[status as Status] ?? 'neutral';
}

/** Whether a retry of it would be taken, and has something to do. */
export function mayRetry(
  rights: Rights,
  { appCode, status, type }: Pick<Sent, 'appCode' | 'status' | 'type'>,
): boolean {
  return (status === 'failed' || status === 'partial') && type !== PROVIDER_TYPE && mayWriteIn(rights, appCode);
}

/** Whether its reason, and not its status, says what became of it. */
export function isTakenBack({ statusReason }: Pick<Sent, 'statusReason'>): boolean {
  return statusReason === 'cancelled' || statusReason === 'withdrawn';
}

/** The reason that says most: of a delivery that did not arrive, else of the notification itself. */
export function reasonOf({ statusReason, deliveries }: Pick<Sent, 'statusReason' | 'deliveries'>): string | null {
  return deliveries.find(({ error }) => error !== null)?.error ?? statusReason;
}

/** A payload as it is typed: an object of JSON, or why it is none. An empty text is an empty object. */
export function payloadOf(text: string): { readonly payload: Record<string, unknown> } | { readonly fault: string } {
  if (text.trim() === '') return { payload: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return { payload: value as Record<string, unknown> };
    }
    return { fault: '' };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

export interface Draft {
  readonly app: string;
  readonly type: string;
  readonly recipients: string;
  readonly subject: string;
  readonly body: string;
  readonly url: string;
  readonly locale: string;
  readonly templateKey: string;
  readonly payload: string;
}

export const EMPTY: Draft = {
  app: '',
  type: 'generic',
  recipients: '',
  subject: '',
  body: '',
  url: '',
  locale: '',
  templateKey: '',
  payload: '',
};

/** Sends to more people than this ask first. */
export const MANY = 10;

/** A variable of a template. */
export interface Known {
  readonly name: string;
  /** A send without it is refused. */
  readonly required: boolean;
}

/** The variables of templates that are one template in several languages: those that are required first. */
export function knownIn(
  variants: readonly {
    readonly subject: string;
    readonly html: string;
    readonly text: string | null;
    readonly pushTitle: string | null;
    readonly pushBody: string | null;
    readonly url: string | null;
    readonly requiredVariables: readonly string[];
  }[],
): Known[] {
  const required = new Set(variants.flatMap(({ requiredVariables }) => requiredVariables));
  const used = variablesIn(
    variants.flatMap((one) =>
      [one.subject, one.html, one.text, one.pushTitle, one.pushBody, one.url].map((part) => part ?? ''),
    ),
  );
  // `order` is given by the fields of its members.
  const all = [...new Set([...required, ...used])];
  const leaves = all.filter((name) => !all.some((other) => other.startsWith(`${name}.`)));
  return leaves.map((name) => ({
    name,
    required: [...required].some((one) => name === one || name.startsWith(`${one}.`)),
  }));
}

type Payload = Readonly<Record<string, unknown>>;

/** Those without a value. */
export function emptyIn(variables: readonly Known[], payload: Payload): Known[] {
  return variables.filter(({ name }) => shownAt(payload, name).trim() === '');
}

/** The value of a variable such as `order.id`, as a field shows it. */
export function shownAt(payload: Payload, name: string): string {
  const value = name
    .split('.')
    .reduce<unknown>(
      (at, step) => (typeof at === 'object' && at !== null ? (at as Payload)[step] : undefined),
      payload,
    );
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A payload with what was typed for a variable: a text, or a list or an object where it is one in JSON. An empty field is left out. */
export function withValue(payload: Payload, name: string, typed: string): Payload {
  const [step = '', ...rest] = name.split('.');
  const { [step]: before, ...others } = payload;
  if (rest.length > 0) {
    const inner = typeof before === 'object' && before !== null && !Array.isArray(before) ? (before as Payload) : {};
    const after = withValue(inner, rest.join('.'), typed);
    return Object.keys(after).length === 0 ? others : { ...payload, [step]: after };
  }
  return typed === '' ? others : { ...payload, [step]: readFrom(typed) };
}

function readFrom(typed: string): unknown {
  if (!/^[[{]/.test(typed.trim())) return typed;
  try {
    return JSON.parse(typed) as unknown;
  } catch {
    return typed; // Half of a list, or a text that begins like one.
  }
}

/** What a send asks for: fields left empty are left out, so that the service's own values hold. */
export function orderOf(draft: Draft, recipients: readonly string[], payload: Record<string, unknown>) {
  const { type, subject, body, url, locale, templateKey } = draft;
  const given = Object.entries({ subject, body, url, locale, templateKey }).filter(([, value]) => value.trim() !== '');
  return { type, recipients: [...recipients], payload, ...(Object.fromEntries(given) as Record<string, string>) };
}

/** A link of a notification that a browser may follow: a path belongs to the application, whose address is unknown here. */
export function linkOf(url: string | null): string | null {
  return url !== null && /^https?:\/\//i.test(url) ? url : null;
}
