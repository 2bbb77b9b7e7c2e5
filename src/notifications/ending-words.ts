/** The built-in words of a message about grants that end soon (docs/reference/time.md#notices-of-ends). */

import { certain } from '../base/certain.ts';
import type { EndingGrant } from '../persistence/notifications/endings.ts';

interface Words {
  readonly subject: (app: string) => string;
  readonly lead: (app: string) => string;
  readonly line: (what: string, end: string) => string;
  readonly role: (name: string) => string;
  readonly seat: string;
  readonly close: string;
}

const WORDS = {
  en: {
    subject: (app) => `Your access to ${app} ends soon`,
    lead: (app) => `What you hold in ${app} ends soon:`,
    line: (what, end) => `${what}: until ${end}`,
    role: (name) => `Role ${name}`,
    seat: 'Administrator of the application',
    close: 'If you need it for longer, ask an administrator of the application.',
  },
  cs: {
    subject: (app) => `Váš přístup k aplikaci ${app} brzy skončí`,
    lead: (app) => `V aplikaci ${app} vám brzy skončí:`,
    line: (what, end) => `${what}: do ${end}`,
    role: (name) => `Role ${name}`,
    seat: 'Správa aplikace',
    close: 'Potřebujete-li to déle, požádejte správce aplikace.',
  },
} as const satisfies Record<string, Words>;

type Language = keyof typeof WORDS;

/** The language of the words for a person: theirs where there are words in it, else English. */
export function languageOf(locale: string | null): Language {
  return locale?.split('-')[0] === 'cs' ? 'cs' : 'en';
}

/** Subject and text; times are those of the zone. */
export function wordsOf(
  grants: readonly Pick<
    EndingGrant,
    'kind' | 'appName' | 'role' | 'roleName' | 'resourceType' | 'resourceId' | 'endsAt'
  >[],
  language: Language,
  timeZone: string,
): { subject: string; body: string } {
  const words: Words = WORDS[language];
  const app = certain(grants[0]).appName;
  const format = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
    year: 'numeric',
    month: 'long',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZone,
    timeZoneName: 'short',
  });
  const lines = grants.map((grant) => words.line(nameOf(grant, words), format.format(grant.endsAt)));
  return { subject: words.subject(app), body: [words.lead(app), '', ...lines, '', words.close].join('\n') };
}

function nameOf(
  { kind, role, roleName, resourceType, resourceId }: Parameters<typeof wordsOf>[0][number],
  words: Words,
): string {
  if (kind === 'role') return words.role(roleName ?? role ?? '');
  return kind === 'app_admin' ? words.seat : `${resourceType} ${resourceId}`;
}
