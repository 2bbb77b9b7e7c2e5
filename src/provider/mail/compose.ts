/** The words of an auth mail: from a template, or the provider's own. (docs/reference/identity-provider.md#e-mails.) */

import { OPTIONAL_PARTS, recordOf } from '../../base/channels.ts';
import { SYSTEM_LANGUAGE } from '../../base/grammar.ts';
import { hasMembers } from '../../base/members.ts';
import type { MailSender } from '../../delivery/mail.ts';
import type { Renderer } from '../../notifications/render.ts';
import { chooseVariant } from '../../notifications/variant.ts';
import type { AuthMailFacts, AuthTemplate } from '../../persistence/provider/auth-mails.ts';
import { type Content, contentOf } from './fallback.ts';
import type { AuthMail } from './payload.ts';
import { scrub } from './text.ts';

/** Why the provider's own words were used. */
export type FallbackReason = 'unknown_event' | 'no_template' | 'missing_variables' | 'render_failed';

export interface Composed {
  content: Content;
  /** The variant's, or the reader's where the provider's words are used. */
  locale: string;
  source: 'panel' | 'idp';
  templateKey: string | null;
  fallbackReason: FallbackReason | null;
  /** The language of a registration, to be stored in the profile. */
  registered: string | null;
}

interface Ingredients {
  mail: AuthMail;
  facts: AuthMailFacts;
  sender: MailSender;
  /** Those whose links the mail may hold. */
  origins: ReadonlySet<string>;
}

/** Throws VALIDATION_FAILED when neither a template nor the provider's words can be used. */
export async function compose(renderer: Pick<Renderer, 'render'>, all: Ingredients): Promise<Composed> {
  const { mail, facts, origins } = all;
  // The profile's own language takes precedence over a login component's (docs/reference/identity-provider.md#registration-locale).
  const registered = facts.profile?.locale == null ? facts.registrationLocale : null;
  const locale = facts.profile?.locale ?? registered ?? SYSTEM_LANGUAGE;
  const common = { templateKey: mail.templateKey, registered };
  const words = await panelWords(renderer, all, locale);
  if (typeof words !== 'string') return { ...common, ...words, source: 'panel', fallbackReason: null };
  return { ...common, content: contentOf(mail, origins), locale, source: 'idp', fallbackReason: words };
}

/** The rendered template, or why none was used. */
async function panelWords(
  renderer: Pick<Renderer, 'render'>,
  ingredients: Ingredients,
  locale: string,
): Promise<{ content: Content; locale: string } | FallbackReason> {
  const { mail, facts } = ingredients;
  if (mail.templateKey === null) return 'unknown_event';
  const template = chooseVariant(facts.variants, locale, facts.fallbacks);
  if (template === undefined) return 'no_template';
  const variables = variablesOf(ingredients, template.locale);
  if (!template.requiredVariables.every((name) => isPresent(variables, name))) return 'missing_variables';
  const { user, app, brand, locale: language, ...payload } = variables;
  const job = { template: sourceOf(template), payload, variables: { user, app, brand, locale: language } };
  const [outcome] = await renderer.render([job], 'auth mails');
  if (outcome?.ok !== true) return 'render_failed';
  // Like the preview. Foreign links were removed from the provider's values before (payload.ts).
  const { subject, html, text } = outcome.rendered;
  return { content: { subject, html, text }, locale: template.locale };
}

function sourceOf({ subject, html, text }: AuthTemplate) {
  return { ...recordOf(OPTIONAL_PARTS, () => null), subject, html, text };
}

/** The variables of docs/reference/identity-provider.md#variables-of-auth-templates: `args`, `code`, `url`, `templateData`, and `user`, `app`, `brand`, `locale`, which override all others. */
function variablesOf({ mail, facts, sender, origins }: Ingredients, locale: string): Readonly<Record<string, unknown>> {
  const { args, templateData, recipient: email } = mail;
  const { profile } = facts;
  // People choose the names of their profiles, too.
  const named = (name: string, own: string | null | undefined): unknown => args[name] ?? scrub(own ?? '', origins);
  return {
    ...args,
    args,
    // Absent rather than null, so that a template's `if` and the required variables agree.
    ...(mail.code === null ? {} : { code: mail.code }),
    ...(mail.url === null ? {} : { url: mail.url }),
    templateData,
    user: {
      email,
      firstName: named('firstName', profile?.firstName),
      lastName: named('lastName', profile?.lastName),
      displayName: named('displayName', profile?.displayName),
      locale,
      timezone: profile?.timezone ?? null,
    },
    app: facts.app,
    brand: {
      slug: sender.slug,
      name: sender.name,
      primaryColor: sender.look.primaryColor,
      logoUrl: sender.look.logoUrl,
      footerText: sender.look.footerText,
    },
    locale,
  };
}

/** Whether a variable, by its dotted name, has a value. */
function isPresent(variables: Readonly<Record<string, unknown>>, name: string): boolean {
  let at: unknown = variables;
  for (const part of name.split('.')) {
    if (!hasMembers(at) || !Object.hasOwn(at, part)) return false;
    at = at[part];
  }
  return at !== null && at !== undefined && at !== '';
}
