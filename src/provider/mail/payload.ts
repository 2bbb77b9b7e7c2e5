/** What the provider sends for an e-mail, read leniently: fields that are not known are passed over. */

import { z } from 'zod';
import { validationFailed } from '../../base/errors.ts';
import { normalizeEmail } from '../../base/grammar.ts';
import { scrub, unescapeHtml } from './text.ts';

/** The template under type `auth_idp` for each event (docs/reference/identity-provider.md#e-mails). */
export const TEMPLATE_KEYS: ReadonlyMap<string, string> = new Map([
  ['user.human.initialization.code.added', 'account_activation'],
  ['user.human.email.code.added', 'email_verification'],
  ['user.human.password.code.added', 'password_reset'],
  ['user.human.invite.code.added', 'user_invitation'],
  ['user.human.passwordless.initialization.code.requested', 'passwordless_registration'],
  ['user.human.mfa.otp.email.code.added', 'otp_email'],
  ['session.otp.email.challenged', 'otp_email'],
  ['user.human.password.changed', 'password_changed'],
  ['user.domain.claimed', 'domain_claimed'],
]);

/** An e-mail that the provider asks for, with nothing in it that must not get into a mail. */
export interface AuthMail {
  eventType: string;
  /** Null for an event that no template serves. */
  templateKey: string | null;
  /** Normalised. */
  recipient: string;
  orgId: string | null;
  /** Strings unescaped once, without foreign links. */
  args: Readonly<Record<string, unknown>>;
  code: string | null;
  /** Null where there is none, or its origin is not ours or the provider's. */
  url: string | null;
  /** The provider's own words. Strings unescaped once. */
  templateData: Readonly<Record<string, unknown>>;
}

const Payload = z.object({
  contextInfo: z.object({ eventType: z.string().min(1).max(200), recipientEmailAddress: z.string() }),
  templateData: z.record(z.string(), z.unknown()).nullish(),
  args: z.record(z.string(), z.unknown()).nullish(),
});

/** Throws VALIDATION_FAILED. `origins` are those whose links may stand in a mail. */
export function readPayload(json: unknown, origins: ReadonlySet<string>): AuthMail {
  const parsed = Payload.safeParse(json);
  if (!parsed.success) {
    throw validationFailed(parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })));
  }
  const { contextInfo, templateData, args } = parsed.data;
  refuseLong({ args, templateData });
  const recipient = normalizeEmail(contextInfo.recipientEmailAddress);
  if (recipient === null) {
    throw validationFailed([{ path: 'contextInfo.recipientEmailAddress', message: 'must be an ASCII e-mail address' }]);
  }
  const link = textOf(templateData?.url);
  const query = link === null ? new URLSearchParams() : queryOf(link);
  // Zero values are omitted in the field, but an empty one says no more.
  const orgId = textOf(args?.orgID) || query.get('orgID') || query.get('organization') || null;
  const code = textOf(args?.code) || textOf(args?.oTP) || query.get('code') || null;
  return {
    eventType: contextInfo.eventType,
    templateKey: TEMPLATE_KEYS.get(contextInfo.eventType) ?? null,
    recipient,
    orgId,
    args: cleaned(args, origins),
    code: code === null ? null : scrubbed(code, origins) || null,
    url: link !== null && isAllowed(link, origins) ? link : null,
    templateData: cleaned(templateData, origins),
  };
}

/** Whether a link may stand in a mail: http(s), no credentials, and of one of the origins (docs/reference/identity-provider.md#links). */
export function isAllowed(link: string, origins: ReadonlySet<string>): boolean {
  const url = URL.parse(link);
  return url !== null && url.username === '' && url.password === '' && origins.has(url.origin);
}

function queryOf(link: string): URLSearchParams {
  const at = link.indexOf('?');
  return new URLSearchParams(at < 0 ? '' : link.slice(at + 1));
}

/** IDs are strings in the field; a number says the same. */
function textOf(value: unknown): string | null {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' ? value : null;
}

/** Of the provider's texts: real ones are some thousand characters. They are scanned before anything else is known of the call. */
const MAX_TEXT = 64 * 1024;

function refuseLong(parts: { args: unknown; templateData: unknown }): void {
  for (const [path, part] of Object.entries(parts)) {
    if (lengthOf(part) <= MAX_TEXT) continue;
    throw validationFailed([{ path, message: `must hold at most ${MAX_TEXT} characters of text` }]);
  }
}

/** Characters in all strings of a value. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, member) => sum + lengthOf(member), 0);
}

function scrubbed(text: string, origins: ReadonlySet<string>): string {
  return scrub(unescapeHtml(text), (link) => isAllowed(link, origins));
}

/** Every string unescaped once, without links that may not stand in a mail: names are the users' own to choose. */
function cleaned(
  value: Readonly<Record<string, unknown>> | null | undefined,
  origins: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  const clean = (item: unknown): unknown => {
    if (typeof item === 'string') return scrubbed(item, origins);
    if (Array.isArray(item)) return item.map(clean);
    if (typeof item !== 'object' || item === null) return item;
    return Object.fromEntries(Object.entries(item).map(([name, member]) => [name, clean(member)]));
  };
  return clean(value ?? {}) as Readonly<Record<string, unknown>>;
}
