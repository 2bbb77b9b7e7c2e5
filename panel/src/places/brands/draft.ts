/** A brand while it is being edited: what is typed, what the preview shows of it, and what a save writes. */

import type { Api } from '../../../../src/gen/api.ts';

export type Brand = Api['GET /api/admin/brands/{id}']['out'];
type Change = Api['PUT /api/admin/brands/{id}']['body'];
type Preview = Api['POST /api/admin/brands/{id}/preview']['body'];

const TEXTS = [
  'primaryColor',
  'backgroundColor',
  'logoUrl',
  'iconUrl',
  'footerText',
  'emailFrom',
  'emailFromName',
  'idpOrgId',
] as const;
const COLORS = ['primaryColor', 'backgroundColor'] as const;

export interface SmtpDraft {
  /** Whether the brand has a server of its own. */
  readonly own: boolean;
  readonly host: string;
  readonly port: string;
  readonly secure: boolean;
  readonly allowInsecure: boolean;
  readonly user: string;
  /** What is typed; empty keeps the stored one, which nobody can read. */
  readonly password: string;
  readonly forgetPassword: boolean;
  readonly auth: 'password' | 'oauth2';
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly scope: string;
  /** As with the password. */
  readonly clientSecret: string;
  readonly forgetClientSecret: boolean;
  readonly refreshToken: string;
  readonly forgetRefreshToken: boolean;
}

export type BrandDraft = { readonly name: string; readonly isDefault: boolean; readonly smtp: SmtpDraft } & {
  readonly [Field in (typeof TEXTS)[number]]: string;
};

export function draftOf(brand: Brand): BrandDraft {
  const { smtp } = brand;
  const texts = Object.fromEntries(TEXTS.map((field) => [field, brand[field] ?? '']));
  return {
    ...(texts as { [Field in (typeof TEXTS)[number]]: string }),
    name: brand.name,
    isDefault: brand.isDefault,
    smtp: {
      own: smtp != null,
      host: smtp?.host ?? '',
      port: String(smtp?.port ?? 587),
      secure: smtp?.secure ?? false,
      allowInsecure: smtp?.allowInsecure ?? false,
      user: smtp?.user ?? '',
      password: '',
      forgetPassword: false,
      auth: smtp?.auth ?? 'password',
      tokenUrl: smtp?.oauth2?.tokenUrl ?? '',
      clientId: smtp?.oauth2?.clientId ?? '',
      scope: smtp?.oauth2?.scope ?? '',
      clientSecret: '',
      forgetClientSecret: false,
      refreshToken: '',
      forgetRefreshToken: false,
    },
  };
}

/** The fields that a save writes: those that differ from what is stored. Empty texts are null. */
export function changesOf(brand: Brand, draft: BrandDraft): Change {
  const change: Record<string, unknown> = {};
  if (draft.name !== brand.name) change.name = draft.name;
  if (draft.isDefault && !brand.isDefault) change.isDefault = true;
  for (const field of TEXTS) {
    const value = draft[field].trim() === '' ? null : draft[field];
    if (value !== brand[field]) change[field] = value;
  }
  const smtp = smtpChangeOf(brand, draft.smtp);
  if (smtp !== undefined) change.smtp = smtp;
  return change as Change;
}

function smtpChangeOf({ smtp = null }: Brand, draft: SmtpDraft): Record<string, unknown> | null | undefined {
  if (!draft.own) return smtp === null ? undefined : null;
  const change: Record<string, unknown> = {};
  const user = draft.user.trim() === '' ? null : draft.user;
  if (draft.host !== (smtp?.host ?? '')) change.host = draft.host;
  if (smtp === null || draft.port !== String(smtp.port)) change.port = Number(draft.port);
  if (draft.secure !== (smtp?.secure ?? false)) change.secure = draft.secure;
  if (draft.allowInsecure !== (smtp?.allowInsecure ?? false)) change.allowInsecure = draft.allowInsecure;
  if (user !== (smtp?.user ?? null)) change.user = user;
  if (draft.auth !== (smtp?.auth ?? 'password')) change.auth = draft.auth;
  if (draft.auth === 'password') {
    if (draft.password !== '') change.password = draft.password;
    else if (draft.forgetPassword) change.password = null;
  } else {
    const oauth2 = oauth2ChangeOf(smtp?.oauth2 ?? null, draft);
    if (Object.keys(oauth2).length > 0 || 'auth' in change) change.oauth2 = oauth2;
  }
  // Without a server so far, even nothing typed is a wish for one: the service says what it needs.
  return smtp === null || Object.keys(change).length > 0 ? change : undefined;
}

type OAuth2 = NonNullable<NonNullable<Brand['smtp']>['oauth2']>;

function oauth2ChangeOf(stored: OAuth2 | null, draft: SmtpDraft): Record<string, unknown> {
  const change: Record<string, unknown> = {};
  const scope = draft.scope.trim() === '' ? null : draft.scope;
  // What is not there and was not typed is left out: the service says that it is required.
  if (draft.tokenUrl !== (stored?.tokenUrl ?? '')) change.tokenUrl = draft.tokenUrl;
  if (draft.clientId !== (stored?.clientId ?? '')) change.clientId = draft.clientId;
  if (scope !== (stored?.scope ?? null)) change.scope = scope;
  if (draft.clientSecret !== '') change.clientSecret = draft.clientSecret;
  else if (draft.forgetClientSecret) change.clientSecret = null;
  if (draft.refreshToken !== '') change.refreshToken = draft.refreshToken;
  else if (draft.forgetRefreshToken) change.refreshToken = null;
  return change;
}

/** A secret belongs to one server and user, and that of a token endpoint to that and its client: the service wants it again when they change. */
export function needsAgain(
  { smtp }: Brand,
  draft: SmtpDraft,
  secret: 'password' | 'clientSecret' | 'refreshToken',
): boolean {
  if (smtp == null || !draft.own || draft[secret] !== '' || draft.auth !== smtp.auth) return false;
  const moved = draft.host !== smtp.host || draft.port !== String(smtp.port) || draft.user !== (smtp.user ?? '');
  if (secret === 'password') return smtp.hasPassword && !draft.forgetPassword && moved;
  const { oauth2 } = smtp;
  if (oauth2 === null) return false;
  const isKept =
    secret === 'clientSecret'
      ? oauth2.hasClientSecret && !draft.forgetClientSecret
      : oauth2.hasRefreshToken && !draft.forgetRefreshToken;
  return isKept && (moved || draft.tokenUrl !== oauth2.tokenUrl || draft.clientId !== oauth2.clientId);
}

/** The change that takes another back; null where a secret cannot be brought back. */
export function inverseOf(brand: Brand, change: Change): Change | null {
  if ('smtp' in change || 'isDefault' in change) return null;
  return Object.fromEntries(Object.keys(change).map((field) => [field, brand[field as keyof Brand]])) as Change;
}

/** What a preview of the draft asks for. What is not yet whole, such as half a color, is left out: the stored one is shown. */
export function previewOf(draft: BrandDraft, kind: Preview['kind']): Preview {
  const { name, footerText } = draft;
  const colors = COLORS.filter((field) => draft[field] === '' || isColor(draft[field]));
  const urls = (['logoUrl', 'iconUrl'] as const).filter((field) => draft[field] === '' || isUrl(draft[field]));
  const fields = [...colors, ...urls].map((field) => [field, draft[field] === '' ? null : draft[field]]);
  return {
    kind,
    ...(name.trim() === '' || name.length > 200 ? {} : { name }),
    ...(footerText.length > 2000 ? {} : { footerText: footerText.trim() === '' ? null : footerText }),
    ...(Object.fromEntries(fields) as { primaryColor?: string | null }),
  };
}

export function isColor(text: string): boolean {
  return /^#[0-9a-f]{6}$/i.test(text);
}

function isUrl(text: string): boolean {
  return text.length <= 2000 && /^https?:$/.test(URL.parse(text)?.protocol ?? '');
}
