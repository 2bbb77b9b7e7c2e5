/** The templates that every installation begins with, in Czech and English; administrators make them their own. */

import type { TemplateSeed } from '../../persistence/provider/auth-mails.ts';

interface Words {
  subject: string;
  /** Paragraphs before the code or the button. */
  lead: readonly string[];
  /** The button's label; null where the mail leads nowhere. */
  button: string | null;
  /** Paragraphs after it. */
  after: readonly string[];
}

interface Kind {
  key: string;
  requiredVariables: readonly string[];
  /** Whether the code is shown; without it the link is all that counts. */
  code: boolean;
  cs: Words;
  en: Words;
}

const CS_IGNORE = 'Pokud jste o nic nežádali, můžete tuto zprávu ignorovat.';
const EN_IGNORE = 'If you did not ask for this, you can ignore this message.';

const KINDS: readonly Kind[] = [
  {
    key: 'account_activation',
    requiredVariables: ['code'],
    code: true,
    cs: {
      subject: 'Aktivujte svůj účet',
      lead: ['pro vaši adresu {{ user.email }} byl založen účet. Aktivujete ho tímto kódem:'],
      button: 'Aktivovat účet',
      after: [CS_IGNORE],
    },
    en: {
      subject: 'Activate your account',
      lead: ['An account was created for {{ user.email }}. Activate it with this code:'],
      button: 'Activate account',
      after: [EN_IGNORE],
    },
  },
  {
    key: 'email_verification',
    requiredVariables: ['code'],
    code: true,
    cs: {
      subject: 'Ověřte svou e-mailovou adresu',
      lead: ['tímto kódem potvrdíte, že adresa {{ user.email }} patří vám:'],
      button: 'Ověřit adresu',
      after: [CS_IGNORE],
    },
    en: {
      subject: 'Verify your e-mail address',
      lead: ['This code confirms that {{ user.email }} is your address:'],
      button: 'Verify address',
      after: [EN_IGNORE],
    },
  },
  {
    key: 'password_reset',
    requiredVariables: ['code'],
    code: true,
    cs: {
      subject: 'Obnovení hesla',
      lead: ['někdo, nejspíš vy, požádal o nové heslo k vašemu účtu. Nastavíte ho s tímto kódem:'],
      button: 'Nastavit nové heslo',
      after: [
        'Pokud jste o nové heslo nežádali, nic nedělejte: vaše dosavadní heslo platí dál. Kód nikomu nesdělujte.',
      ],
    },
    en: {
      subject: 'Reset your password',
      lead: ['Somebody, most likely you, asked for a new password for your account. Set it with this code:'],
      button: 'Set a new password',
      after: ['If it was not you, do nothing: your present password stays valid. Tell this code to nobody.'],
    },
  },
  {
    key: 'user_invitation',
    requiredVariables: ['code'],
    code: true,
    cs: {
      subject: 'Pozvánka{% if applicationName %} do aplikace {{ applicationName }}{% endif %}',
      lead: [
        'zveme vás{% if applicationName %} do aplikace {{ applicationName }}{% endif %}. Účet pro {{ user.email }} je připraven, přijměte ho tímto kódem:',
      ],
      button: 'Přijmout pozvání',
      after: ['Pokud pozvání nečekáte, můžete tuto zprávu ignorovat.'],
    },
    en: {
      subject: 'You are invited{% if applicationName %} to {{ applicationName }}{% endif %}',
      lead: [
        'You have been invited{% if applicationName %} to {{ applicationName }}{% endif %}. An account for {{ user.email }} is ready; accept it with this code:',
      ],
      button: 'Accept the invitation',
      after: ['If you do not expect an invitation, you can ignore this message.'],
    },
  },
  {
    key: 'passwordless_registration',
    requiredVariables: ['url'],
    code: false,
    cs: {
      subject: 'Přidejte si přihlašování bez hesla',
      lead: ['následujícím odkazem přidáte ke svému účtu přístupový klíč a budete se moci přihlašovat bez hesla.'],
      button: 'Přidat přístupový klíč',
      after: ['Otevřete ho na zařízení, na kterém se chcete přihlašovat.', CS_IGNORE],
    },
    en: {
      subject: 'Add a way to sign in without a password',
      lead: ['This link adds a passkey to your account, so that you can sign in without a password.'],
      button: 'Add a passkey',
      after: ['Open it on the device that you want to sign in with.', EN_IGNORE],
    },
  },
  {
    key: 'otp_email',
    requiredVariables: ['code'],
    code: true,
    cs: {
      subject: 'Váš přihlašovací kód',
      lead: ['váš jednorázový kód pro přihlášení:'],
      button: 'Pokračovat v přihlášení',
      after: ['Kód nikomu nesdělujte. Pokud se právě nepřihlašujete, změňte si raději heslo.'],
    },
    en: {
      subject: 'Your sign-in code',
      lead: ['Your one-time code for signing in:'],
      button: 'Continue signing in',
      after: ['Tell this code to nobody. If you are not signing in right now, consider changing your password.'],
    },
  },
  {
    key: 'password_changed',
    requiredVariables: [],
    code: false,
    cs: {
      subject: 'Vaše heslo bylo změněno',
      lead: ['heslo k vašemu účtu {{ user.email }} bylo právě změněno.'],
      button: 'Přejít k přihlášení',
      after: ['Pokud jste ho neměnili vy, obnovte si ho co nejdříve a obraťte se na správce.'],
    },
    en: {
      subject: 'Your password was changed',
      lead: ['The password of your account {{ user.email }} was changed just now.'],
      button: 'Go to sign-in',
      after: ['If it was not you, reset it as soon as you can, and tell your administrator.'],
    },
  },
  {
    key: 'domain_claimed',
    requiredVariables: ['tempUsername'],
    code: false,
    cs: {
      subject: 'Vaše přihlašovací jméno se změnilo',
      lead: [
        'doménu {% if domain %}{{ domain }} {% endif %}vaší adresy převzala jiná organizace, proto se vaše dosavadní přihlašovací jméno nedá dál používat.',
        'Dočasně se přihlašujte jménem <strong>{{ tempUsername }}</strong> a po přihlášení si zvolte nové.',
      ],
      button: 'Přihlásit se',
      after: ['Vaše heslo zůstává stejné.'],
    },
    en: {
      subject: 'Your sign-in name has changed',
      lead: [
        'The domain {% if domain %}{{ domain }} {% endif %}of your address was claimed by another organization, so your present sign-in name can no longer be used.',
        'For the time being sign in as <strong>{{ tempUsername }}</strong>, and choose a new name after that.',
      ],
      button: 'Sign in',
      after: ['Your password stays the same.'],
    },
  },
];

const GREETING = {
  // Czech declines names, which a template cannot: nobody is greeted by name.
  cs: 'Dobrý den,',
  en: "Hello{% if user.firstName != '' %} {{ user.firstName }}{% endif %},",
} as const;

const CODE_STYLE =
  'margin:24px 0;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:28px;font-weight:600;letter-spacing:4px';
/** The mail's frame gives a `usher-button` the ink that is readable on the brand's colour. */
const BUTTON_STYLE =
  "display:inline-block;padding:12px 22px;background:{{ brand.primaryColor | default: '#3451b2' }};border-radius:5px;color:#ffffff;font-weight:600;text-decoration:none";

function htmlOf(locale: 'cs' | 'en', { lead, button, after }: Words, code: boolean): string {
  const paragraphs = (texts: readonly string[]): string[] => texts.map((each) => `<p>${each}</p>`);
  return [
    ...paragraphs([GREETING[locale], ...lead]),
    ...(code ? [`<p style="${CODE_STYLE}">{{ code }}</p>`] : []),
    ...(button === null
      ? []
      : [
          `{% if url %}<p style="margin:24px 0"><a class="usher-button" href="{{ url }}" style="${BUTTON_STYLE}">${button}</a></p>{% endif %}`,
        ]),
    ...paragraphs(after),
    '',
  ].join('\n');
}

function textOf(locale: 'cs' | 'en', { lead, button, after }: Words, code: boolean): string {
  const plain = lead.map((each) => each.replace(/<\/?strong>/g, ''));
  const parts = [GREETING[locale], ...plain, ...(code ? ['    {{ code }}'] : [])];
  const link = button === null ? '' : `{% if url %}${button}:\n{{ url }}\n\n{% endif %}`;
  return `${parts.join('\n\n')}\n\n${link}${after.join('\n\n')}\n`;
}

/** All eight keys in both languages. */
export const AUTH_TEMPLATES: readonly TemplateSeed[] = KINDS.flatMap(({ key, requiredVariables, code, ...words }) =>
  (['cs', 'en'] as const).map((locale) => ({
    key,
    locale,
    requiredVariables,
    subject: words[locale].subject,
    html: htmlOf(locale, words[locale], code),
    text: textOf(locale, words[locale], code),
  })),
);
