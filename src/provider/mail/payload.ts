/** Reads the provider's e-mail calls leniently: unknown fields are ignored. */

import { z } from 'zod';
import { validationFailed } from '../../base/errors.ts';
import { normalizeEmail } from '../../base/grammar.ts';
import { TimeSlicer } from '../../base/time-slice.ts';
import { zodIssues } from '../../base/zod-issues.ts';
import { hrefOf, scrubInPieces, unescapeHtml } from './text.ts';

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
  /** In its parsed form; null without a link that a mail may hold. */
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

/** Throws VALIDATION_FAILED. `origins` are those whose links a mail may hold. */
export async function readPayload(json: unknown, origins: ReadonlySet<string>): Promise<AuthMail> {
  const parsed = Payload.safeParse(json);
  if (!parsed.success) throw validationFailed(zodIssues(parsed.error.issues, Payload));
  const { contextInfo, templateData, args } = parsed.data;
  const recipient = normalizeEmail(contextInfo.recipientEmailAddress);
  if (recipient === null) {
    throw validationFailed([{ path: 'contextInfo.recipientEmailAddress', message: 'must be an ASCII e-mail address' }]);
  }
  const link = textOf(templateData?.url);
  const query = link === null ? new URLSearchParams() : queryOf(link);
  // Real providers omit zero values; an empty one means the same.
  const orgId = textOf(args?.orgID) || query.get('orgID') || query.get('organization') || null;
  const code = textOf(args?.code) || textOf(args?.oTP) || query.get('code') || null;
  const cleaning = new Cleaning(origins);
  const url = link === null ? null : hrefOf(link, origins);
  const words = await cleaning.all('templateData', templateData);
  return {
    eventType: contextInfo.eventType,
    templateKey: TEMPLATE_KEYS.get(contextInfo.eventType) ?? null,
    recipient,
    orgId,
    args: await cleaning.all('args', args),
    code: code === null ? null : (await cleaning.text(code)) || null,
    url,
    templateData: link === null ? words : { ...words, url: url ?? '' },
  };
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

/** Real payloads nest two levels. */
const MAX_DEPTH = 64;

/** Unescapes strings once and takes links away that a mail may not hold: users choose their names themselves. */
class Cleaning {
  readonly #origins: ReadonlySet<string>;
  readonly #pieces = new TimeSlicer();

  constructor(origins: ReadonlySet<string>) {
    this.#origins = origins;
  }

  async text(text: string): Promise<string> {
    return await scrubInPieces(unescapeHtml(text), this.#origins, this.#pieces);
  }

  /** Every string of a part, the names of its members too. VALIDATION_FAILED where it nests too deep. */
  async all(
    path: string,
    part: Readonly<Record<string, unknown>> | null | undefined,
  ): Promise<Readonly<Record<string, unknown>>> {
    return (await this.#any(path, part ?? {}, 0)) as Readonly<Record<string, unknown>>;
  }

  async #any(path: string, value: unknown, depth: number): Promise<unknown> {
    const wait = this.#pieces.next();
    if (wait !== undefined) await wait;
    if (typeof value === 'string') return await this.text(value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth >= MAX_DEPTH)
      throw validationFailed([{ path, message: `must nest objects and arrays at most ${MAX_DEPTH} deep` }]);
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const item of value) items.push(await this.#any(path, item, depth + 1));
      return items;
    }
    const members: [string, unknown][] = [];
    for (const [name, member] of Object.entries(value))
      members.push([await this.text(name), await this.#any(path, member, depth + 1)]);
    return Object.fromEntries(members);
  }
}
