/** The effect of a write on a brand's SMTP settings; pure but for the sealing. (docs/reference/brands.md#smtp.) */

import { UsherError, validationFailed } from '../base/errors.ts';
import type { BrandChange, BrandRow } from '../persistence/brands/brands.ts';
import { clientSecretContext, passwordContext, refreshTokenContext, type Sealing } from './sealing.ts';

/** The settings in a request: undefined means the request did not have it. A null password removes it. */
export interface SmtpInput {
  host?: string | undefined;
  port?: number | undefined;
  secure?: boolean | undefined;
  allowInsecure?: boolean | undefined;
  user?: string | null | undefined;
  auth?: BrandRow['smtpAuth'] | undefined;
  password?: string | null | undefined;
  oauth2?: OAuth2Input | null | undefined;
}

/** A null secret removes it. */
export interface OAuth2Input {
  tokenUrl?: string | undefined;
  clientId?: string | undefined;
  clientSecret?: string | null | undefined;
  scope?: string | null | undefined;
  refreshToken?: string | null | undefined;
}

/** What decides on a write beside the brand itself. */
export interface SmtpRules {
  readonly sealing: Sealing;
  /** Why tokens may not be fetched at a URL, completing "must …"; null where they may. */
  readonly tokenUrlProblem: (url: string) => string | null;
}

interface Issue {
  path: string;
  message: string;
}

type SmtpColumns = Pick<
  BrandRow,
  | 'smtpHost'
  | 'smtpPort'
  | 'smtpSecure'
  | 'smtpAllowInsecure'
  | 'smtpUser'
  | 'smtpPassword'
  | 'smtpKey'
  | 'smtpAuth'
  | OAuth2Column
>;
type OAuth2Column = 'smtpTokenUrl' | 'smtpClientId' | 'smtpClientSecret' | 'smtpScope' | 'smtpRefreshToken';

const NO_OAUTH2: Pick<SmtpColumns, OAuth2Column> = {
  smtpTokenUrl: null,
  smtpClientId: null,
  smtpClientSecret: null,
  smtpScope: null,
  smtpRefreshToken: null,
};

const NO_PASSWORD: Pick<SmtpColumns, 'smtpPassword' | 'smtpKey'> = { smtpPassword: null, smtpKey: null };

const NONE: SmtpColumns = {
  smtpHost: null,
  smtpPort: null,
  smtpSecure: false,
  smtpAllowInsecure: false,
  smtpUser: null,
  smtpAuth: 'password',
  ...NO_PASSWORD,
  ...NO_OAUTH2,
};

/** The settings after the write, as far as both kinds of authentication ask. */
interface Wanted {
  readonly user: string | null;
  readonly auth: BrandRow['smtpAuth'];
  /** Whether the server or the user are others than before. */
  readonly elsewhere: boolean;
}

/**
 * The columns after the write: null clears them all; fields that were not sent stay. VALIDATION_FAILED when a secret would be
 * kept for another server, user or token endpoint, when something needed is missing, when what was sent does not belong to the kind of
 * authentication, or when no key is configured to seal a secret.
 */
export function smtpChange(row: BrandRow, sent: SmtpInput | null | undefined, rules: SmtpRules): BrandChange {
  if (sent === undefined) return {};
  if (sent === null) return NONE;
  // A version before OAuth 2.0 takes a server away and leaves its tokens.
  const present: BrandRow = row.smtpHost === null ? { ...row, ...NONE } : row;
  const host = sent.host ?? present.smtpHost;
  const port = sent.port ?? present.smtpPort;
  const user = sent.user === undefined ? present.smtpUser : sent.user;
  const auth = sent.auth ?? present.smtpAuth;
  const issues: Issue[] = [];
  if (host === null) issues.push({ path: 'smtp.host', message: 'is required' });
  if (port === null) issues.push({ path: 'smtp.port', message: 'is required' });
  const elsewhere = host !== present.smtpHost || port !== present.smtpPort || user !== present.smtpUser;
  const wanted = { user, auth, elsewhere };
  issues.push(...passwordIssues(present, sent, wanted), ...oauth2Issues(present, sent, wanted, rules));
  for (const [path, secret] of Object.entries(secretsOf(sent))) {
    if (typeof secret === 'string' && rules.sealing.current === null) {
      const message = 'cannot be stored: set the configuration key brandSmtpKey (BRAND_SMTP_KEY) first';
      issues.push({ path, message });
    }
  }
  if (issues.length > 0) throw validationFailed(issues);
  return {
    smtpHost: host,
    smtpPort: port,
    smtpSecure: sent.secure ?? present.smtpSecure,
    smtpAllowInsecure: sent.allowInsecure ?? present.smtpAllowInsecure,
    smtpUser: user,
    smtpAuth: auth,
    ...(auth === 'password'
      ? { ...sealedPassword(present, sent.password, rules.sealing), ...NO_OAUTH2 }
      : { ...NO_PASSWORD, ...oauth2Columns(present, sent.oauth2 ?? {}, rules.sealing) }),
  };
}

function secretsOf({ password, oauth2 }: SmtpInput): Record<string, string | null | undefined> {
  return {
    'smtp.password': password,
    'smtp.oauth2.clientSecret': oauth2?.clientSecret,
    'smtp.oauth2.refreshToken': oauth2?.refreshToken,
  };
}

function passwordIssues(present: BrandRow, { password }: SmtpInput, { user, auth, elsewhere }: Wanted): Issue[] {
  if (auth === 'oauth2') {
    if (typeof password !== 'string') return [];
    return [{ path: 'smtp.password', message: 'must not be sent with auth oauth2' }];
  }
  const issues: Issue[] = [];
  const kept = password === undefined && present.smtpPassword !== null;
  if (kept && elsewhere) {
    issues.push({ path: 'smtp.password', message: 'must be sent again when host, port or user change' });
  }
  if (typeof password === 'string' && user === null) {
    issues.push({ path: 'smtp.user', message: 'is required with a password' });
  }
  return issues;
}

function oauth2Issues(present: BrandRow, { oauth2 }: SmtpInput, { user, auth, elsewhere }: Wanted, rules: SmtpRules) {
  const at = (field: string, message: string): Issue => ({ path: `smtp.oauth2${field}`, message });
  if (auth === 'password')
    return oauth2 == null ? [] : [at('', 'must not be sent with auth password: send auth oauth2')];
  const issues: Issue[] = [];
  if (user === null) issues.push({ path: 'smtp.user', message: 'is required with auth oauth2' });
  const tokenUrl = oauth2?.tokenUrl ?? present.smtpTokenUrl;
  const clientId = oauth2?.clientId ?? present.smtpClientId;
  if (oauth2 === null || (oauth2 === undefined && tokenUrl === null)) {
    return [...issues, at('', 'is required with auth oauth2')];
  }
  if (tokenUrl === null) issues.push(at('.tokenUrl', 'is required'));
  if (clientId === null) issues.push(at('.clientId', 'is required'));
  const problem = oauth2?.tokenUrl === undefined ? null : rules.tokenUrlProblem(oauth2.tokenUrl);
  if (problem !== null) issues.push(at('.tokenUrl', problem));
  const moved = elsewhere || tokenUrl !== present.smtpTokenUrl || clientId !== present.smtpClientId;
  const again = 'must be sent again when host, port, user, tokenUrl or clientId change';
  const { clientSecret, refreshToken } = oauth2 ?? {};
  if (moved && clientSecret === undefined && present.smtpClientSecret !== null) issues.push(at('.clientSecret', again));
  if (moved && refreshToken === undefined && present.smtpRefreshToken !== null) issues.push(at('.refreshToken', again));
  const hasSecret = clientSecret === undefined ? present.smtpClientSecret !== null : clientSecret !== null;
  const hasToken = refreshToken === undefined ? present.smtpRefreshToken !== null : refreshToken !== null;
  if (!hasSecret && !hasToken) issues.push(at('.clientSecret', 'is required without a refreshToken'));
  return issues;
}

function oauth2Columns(present: BrandRow, sent: OAuth2Input, sealing: Sealing): BrandChange {
  const { id } = present;
  return {
    smtpTokenUrl: sent.tokenUrl ?? present.smtpTokenUrl,
    smtpClientId: sent.clientId ?? present.smtpClientId,
    smtpScope: sent.scope === undefined ? present.smtpScope : sent.scope,
    smtpClientSecret: sealedText(clientSecretContext(id), present.smtpClientSecret, sent.clientSecret, sealing),
    smtpRefreshToken: sealedText(refreshTokenContext(id), present.smtpRefreshToken, sent.refreshToken, sealing),
  };
}

/** The same secret again keeps its text: it changes nothing, and adds no audit record. */
function sealedText(context: string, kept: string | null, secret: string | null | undefined, sealing: Sealing) {
  if (secret === undefined) return kept;
  if (secret === null) return null;
  const isCurrent = kept?.startsWith(`${sealing.current}.`) ?? false;
  return kept !== null && isCurrent && sealing.openText(context, kept) === secret
    ? kept
    : sealing.sealText(context, secret);
}

function sealedPassword(present: BrandRow, password: string | null | undefined, sealing: Sealing): BrandChange {
  const { smtpPassword: text, smtpKey: key } = present;
  if (password === undefined) return { smtpPassword: text, smtpKey: key };
  if (password === null) return NO_PASSWORD;
  const context = passwordContext(present.id);
  // The same password again changes nothing, and adds no audit record.
  if (text !== null && key !== null && key === sealing.current && sealing.open(context, { key, text }) === password)
    return { smtpPassword: text, smtpKey: key };
  const made = sealing.seal(context, password);
  return { smtpPassword: made.text, smtpKey: made.key };
}

/** The settings as they are shown: of secrets only whether there are any. */
export interface ShownSmtp {
  host: string;
  port: number;
  secure: boolean;
  allowInsecure: boolean;
  user: string | null;
  auth: BrandRow['smtpAuth'];
  hasPassword: boolean;
  /** Null with `auth: password`. */
  oauth2: {
    tokenUrl: string;
    clientId: string;
    scope: string | null;
    hasClientSecret: boolean;
    hasRefreshToken: boolean;
  } | null;
}

/** Null for a brand without a server. */
export function shownSmtp(row: BrandRow): ShownSmtp | null {
  const { smtpHost: host, smtpPort: port, smtpTokenUrl: tokenUrl, smtpClientId: clientId } = row;
  if (host === null || port === null) return null;
  return {
    host,
    port,
    secure: row.smtpSecure,
    allowInsecure: row.smtpAllowInsecure,
    user: row.smtpUser,
    auth: row.smtpAuth,
    hasPassword: row.smtpPassword !== null,
    oauth2:
      row.smtpAuth === 'password' || tokenUrl === null || clientId === null
        ? null
        : {
            tokenUrl,
            clientId,
            scope: row.smtpScope,
            hasClientSecret: row.smtpClientSecret !== null,
            hasRefreshToken: row.smtpRefreshToken !== null,
          },
  };
}

/** 502 with the mail server's own words (docs/reference/errors.md#reasons: SMTP_FAILED). */
export function smtpFailed({ kind, code, response }: { kind: string; code: string; response: string }): UsherError {
  const message =
    kind === 'no_smtp' ? 'The brand has no SMTP server.' : 'The mail server refused the message: see details.smtp.';
  return new UsherError('SMTP_FAILED', message, { details: { smtp: { kind, code, response } } });
}
