/** The provider's mails: which template writes which, in which language, and what is sent where there is none (docs/guides/auth-emails.md). */

import { PROVIDER_TYPE } from '../../shell/panel-app.ts';

/** Keys of templates, with the events of the provider that they write for. */
export const MAILS = [
  ['account_activation', ['user.human.initialization.code.added']],
  ['email_verification', ['user.human.email.code.added']],
  ['password_reset', ['user.human.password.code.added']],
  ['user_invitation', ['user.human.invite.code.added']],
  ['passwordless_registration', ['user.human.passwordless.initialization.code.requested']],
  ['otp_email', ['user.human.mfa.otp.email.code.added', 'session.otp.email.challenged']],
  ['password_changed', ['user.human.password.changed']],
  ['domain_claimed', ['user.domain.claimed']],
] as const satisfies readonly (readonly [string, readonly string[]])[];

interface Template {
  readonly type: string;
  readonly key: string;
  readonly locale: string;
}
interface Language {
  readonly code: string;
  readonly fallback: string | null;
}

/** `own`: a template in that language; else the language that is sent instead, null for the provider's own words. */
interface MailCell {
  readonly locale: string;
  readonly own: boolean;
  readonly sent: string | null;
}

/** Languages that some template is in, `en` always among them. */
export function localesOf(templates: readonly Template[]): readonly string[] {
  const found = templates.filter(({ type }) => type === PROVIDER_TYPE).map(({ locale }) => locale);
  return [...new Set(['en', ...found])].sort();
}

export function cellsOf(
  key: string,
  { templates, languages }: { templates: readonly Template[]; languages: readonly Language[] },
): readonly MailCell[] {
  const variants = templates.filter((one) => one.type === PROVIDER_TYPE && one.key === key).map(({ locale }) => locale);
  return localesOf(templates).map((locale) => {
    const own = variants.includes(locale);
    return { locale, own, sent: own ? locale : insteadOf(locale, variants, languages) };
  });
}

/** What the registry falls back to, then `en`, then any other. */
function insteadOf(locale: string, variants: readonly string[], languages: readonly Language[]): string | null {
  const seen = new Set([locale]);
  for (let next = languages.find(({ code }) => code === locale)?.fallback; next; ) {
    if (variants.includes(next)) return next;
    if (seen.has(next)) break;
    seen.add(next);
    const current = next;
    next = languages.find(({ code }) => code === current)?.fallback ?? null;
  }
  return variants.includes('en') ? 'en' : ([...variants].sort()[0] ?? null);
}
