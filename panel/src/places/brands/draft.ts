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
  if (draft.password !== '') change.password = draft.password;
  else if (draft.forgetPassword) change.password = null;
  // Without a server so far, even nothing typed is a wish for one: the service says what it needs.
  return smtp === null || Object.keys(change).length > 0 ? change : undefined;
}

/** The password belongs to one server and user: the service wants it again when they change. */
export function needsPassword({ smtp }: Brand, draft: SmtpDraft): boolean {
  if (smtp == null || !smtp.hasPassword || !draft.own || draft.forgetPassword || draft.password !== '') return false;
  return draft.host !== smtp.host || draft.port !== String(smtp.port) || draft.user !== (smtp.user ?? '');
}

/** The change that takes another back; null where a password cannot be brought back. */
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
