/** The effect of a write on a brand's SMTP settings; pure but for the sealing. (docs/reference/brands.md#smtp.) */

import { UsherError, validationFailed } from '../base/errors.ts';
import type { BrandChange, BrandRow } from '../persistence/brands/brands.ts';
import { passwordContext, type Sealing } from './sealing.ts';

/** The settings in a request: undefined means the request did not have it. A null password removes it. */
export interface SmtpInput {
  host?: string | undefined;
  port?: number | undefined;
  secure?: boolean | undefined;
  allowInsecure?: boolean | undefined;
  user?: string | null | undefined;
  password?: string | null | undefined;
}

type SmtpColumns = Pick<
  BrandRow,
  'smtpHost' | 'smtpPort' | 'smtpSecure' | 'smtpAllowInsecure' | 'smtpUser' | 'smtpPassword' | 'smtpKey'
>;

const NONE: SmtpColumns = {
  smtpHost: null,
  smtpPort: null,
  smtpSecure: false,
  smtpAllowInsecure: false,
  smtpUser: null,
  smtpPassword: null,
  smtpKey: null,
};

/**
 * The columns after the write: null clears them all; fields that were not sent stay. VALIDATION_FAILED when the password would be
 * kept for another server or user, when a server lacks its host or port, when a password has no user, or when no key is
 * configured to seal it.
 */
export function smtpChange(present: BrandRow, sent: SmtpInput | null | undefined, sealing: Sealing): BrandChange {
  if (sent === undefined) return {};
  if (sent === null) return NONE;
  const host = sent.host ?? present.smtpHost;
  const port = sent.port ?? present.smtpPort;
  const user = sent.user === undefined ? present.smtpUser : sent.user;
  const issues = [];
  if (host === null) issues.push({ path: 'smtp.host', message: 'is required' });
  if (port === null) issues.push({ path: 'smtp.port', message: 'is required' });
  const elsewhere = host !== present.smtpHost || port !== present.smtpPort || user !== present.smtpUser;
  const kept = sent.password === undefined && present.smtpPassword !== null;
  if (kept && elsewhere) {
    issues.push({ path: 'smtp.password', message: 'must be sent again when host, port or user change' });
  }
  if (typeof sent.password === 'string' && user === null) {
    issues.push({ path: 'smtp.user', message: 'is required with a password' });
  }
  if (typeof sent.password === 'string' && sealing.current === null) {
    issues.push({
      path: 'smtp.password',
      message: 'cannot be stored: set the configuration key brandSmtpKey (BRAND_SMTP_KEY) first',
    });
  }
  if (issues.length > 0) throw validationFailed(issues);
  return {
    smtpHost: host,
    smtpPort: port,
    smtpSecure: sent.secure ?? present.smtpSecure,
    smtpAllowInsecure: sent.allowInsecure ?? present.smtpAllowInsecure,
    smtpUser: user,
    ...sealed(present, sent.password, sealing),
  };
}

function sealed(present: BrandRow, password: string | null | undefined, sealing: Sealing): BrandChange {
  if (password === undefined) return {};
  if (password === null) return { smtpPassword: null, smtpKey: null };
  const context = passwordContext(present.id);
  // The same password again changes nothing, and adds no audit record.
  const { smtpPassword: text, smtpKey: key } = present;
  if (text !== null && key !== null && key === sealing.current && sealing.open(context, { key, text }) === password)
    return {};
  const made = sealing.seal(context, password);
  return { smtpPassword: made.text, smtpKey: made.key };
}

/** 502 with the mail server's own words (docs/reference/errors.md#reasons: SMTP_FAILED). */
export function smtpFailed({ kind, code, response }: { kind: string; code: string; response: string }): UsherError {
  const message =
    kind === 'no_smtp' ? 'The brand has no SMTP server.' : 'The mail server refused the message: see details.smtp.';
  return new UsherError('SMTP_FAILED', message, { details: { smtp: { kind, code, response } } });
}
