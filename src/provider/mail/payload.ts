/** Reads the provider's e-mail calls leniently: unknown fields are ignored. */

import { z } from 'zod';
import { validationFailed } from '../../base/errors.ts';
import { normalizeEmail } from '../../base/grammar.ts';
import { zodIssues } from '../../base/zod-issues.ts';
import { scrub, unescapeHtml } from './text.ts';

/** The template under type `auth_idp` for each event (docs/reference/identity-provider.md#e-mails). */
const TEMPLATE_KEYS: ReadonlyMap<string, string> = new Map([
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

/** An e-mail that the provider requests, free of anything that must not appear in a mail. */
export interface AuthMail {
  eventType: string;
  /** Null for an event without a template. */
  templateKey: string | null;
  /** Normalized. */
  recipient: string;
  orgId: string | null;
  /** Strings unescaped once, without foreign links. */
  args: Readonly<Record<string, unknown>>;
  code: string | null;
  /** Null without a link, or with one whose origin is neither ours nor the provider's. */
  url: string | null;
  /** The provider's own words. Strings unescaped once. */
  templateData: Readonly<Record<string, unknown>>;
}

const Payload = z.object({
  contextInfo: z.object({
    eventType: z.string().min(1, 'must not be empty').max(200, 'must be at most 200 characters'),
    recipientEmailAddress: z.string(),
  }),
  templateData: z.record(z.string(), z.unknown()).nullish(),
  args: z.record(z.string(), z.unknown()).nullish(),
});

/** Throws VALIDATION_FAILED. `origins` are those whose links a mail may contain. */
export function readPayload(json: unknown, origins: ReadonlySet<string>): AuthMail {
  const parsed = Payload.safeParse(json);
  if (!parsed.success) throw validationFailed(zodIssues(parsed.error.issues, Payload));
  const { contextInfo, templateData, args } = parsed.data;
  refuseLong({ args, templateData });
  const recipient = normalizeEmail(contextInfo.recipientEmailAddress);
  if (recipient === null) {
    throw validationFailed([{ path: 'contextInfo.recipientEmailAddress', message: 'must be an ASCII e-mail address' }]);
  }
  const link = textOf(templateData?.url);
  const query = link === null ? new URLSearchParams() : queryOf(link);
  // Real providers omit zero values; an empty one means the same.
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

/** Whether a mail may contain a link: http(s), no credentials, and one of the origins (docs/reference/identity-provider.md#links). */
export function isAllowed(link: string, origins: ReadonlySet<string>): boolean {
  const url = URL.parse(link);
  return url !== null && url.username === '' && url.password === '' && origins.has(url.origin);
}

function queryOf(link: string): URLSearchParams {
  const at = link.indexOf('?');
  return new URLSearchParams(at < 0 ? '' : link.slice(at + 1));
}

/** Real providers send ids as strings; a number is accepted as well. */
function textOf(value: unknown): string | null {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' ? value : null;
}

/** Bound on the provider's texts, which have some thousand characters. They are scanned before anything else of the call is known. */
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

/** Every string unescaped once, without links that a mail may not contain: users choose their names themselves. */
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
