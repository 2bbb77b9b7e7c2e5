/**
 * The templates of a new installation, in Czech (docs/reference/administration.md#the-systems-own-records); administrators adapt them.
 * English ones, to be sent as variants, are in examples/auth-emails-en.json.
 */

import type { TemplateSeed } from '../../persistence/provider/auth-mails.ts';

interface Words {
  subject: string;
  /** Paragraphs before the code or the button. */
  lead: readonly string[];
  /** The button's label; null for a mail without a link. */
  button: string | null;
  /** Paragraphs after it. */
  after: readonly string[];
}

interface Kind {
  key: string;
  requiredVariables: readonly string[];
  /** Whether the mail shows the code; without it only the link counts. */
  code: boolean;
  words: Words;
}

const IGNORE = 'Pokud jste o nic nežádali, můžete tuto zprávu ignorovat.';

const KINDS: readonly Kind[] = [
  {
    key: 'account_activation',
    requiredVariables: ['code'],
    code: true,
    words: {
      subject: 'Aktivujte svůj účet',
      lead: ['pro vaši adresu {{ user.email }} byl založen účet. Aktivujete ho tímto kódem:'],
      button: 'Aktivovat účet',
      after: [IGNORE],
    },
  },
  {
    key: 'email_verification',
    requiredVariables: ['code'],
    code: true,
    words: {
      subject: 'Ověřte svou e-mailovou adresu',
      lead: ['tímto kódem potvrdíte, že adresa {{ user.email }} patří vám:'],
      button: 'Ověřit adresu',
      after: [IGNORE],
    },
  },
  {
    key: 'password_reset',
    requiredVariables: ['code'],
    code: true,
    words: {
      subject: 'Obnovení hesla',
      lead: ['někdo, nejspíš vy, požádal o nové heslo k vašemu účtu. Nastavíte ho s tímto kódem:'],
      button: 'Nastavit nové heslo',
      after: [
        'Pokud jste o nové heslo nežádali, nic nedělejte: vaše dosavadní heslo platí dál. Kód nikomu nesdělujte.',
      ],
    },
  },
  {
    key: 'user_invitation',
    requiredVariables: ['code'],
    code: true,
    words: {
      subject: 'Pozvánka{% if applicationName %} do aplikace {{ applicationName }}{% endif %}',
      lead: [
        'zveme vás{% if applicationName %} do aplikace {{ applicationName }}{% endif %}. Účet pro {{ user.email }} je připraven, přijměte ho tímto kódem:',
      ],
      button: 'Přijmout pozvání',
      after: ['Pokud pozvání nečekáte, můžete tuto zprávu ignorovat.'],
    },
  },
  {
    key: 'passwordless_registration',
    requiredVariables: ['url'],
    code: false,
    words: {
      subject: 'Přidejte si přihlašování bez hesla',
      lead: ['následujícím odkazem přidáte ke svému účtu přístupový klíč a budete se moci přihlašovat bez hesla.'],
      button: 'Přidat přístupový klíč',
      after: ['Otevřete ho na zařízení, na kterém se chcete přihlašovat.', IGNORE],
    },
  },
  {
    key: 'otp_email',
    requiredVariables: ['code'],
    code: true,
    words: {
      subject: 'Váš přihlašovací kód',
      lead: ['váš jednorázový kód pro přihlášení:'],
      button: 'Pokračovat v přihlášení',
      after: ['Kód nikomu nesdělujte. Pokud se právě nepřihlašujete, změňte si raději heslo.'],
    },
  },
  {
    key: 'password_changed',
    requiredVariables: [],
    code: false,
    words: {
      subject: 'Vaše heslo bylo změněno',
      lead: ['heslo k vašemu účtu {{ user.email }} bylo právě změněno.'],
      button: 'Přejít k přihlášení',
      after: ['Pokud jste ho neměnili vy, obnovte si ho co nejdříve a obraťte se na správce.'],
    },
  },
  {
    key: 'domain_claimed',
    requiredVariables: ['tempUsername'],
    code: false,
    words: {
      subject: 'Vaše přihlašovací jméno se změnilo',
      lead: [
        'doménu {% if domain %}{{ domain }} {% endif %}vaší adresy převzala jiná organizace, proto se vaše dosavadní přihlašovací jméno nedá dál používat.',
        'Dočasně se přihlašujte jménem <strong>{{ tempUsername }}</strong> a po přihlášení si zvolte nové.',
      ],
      button: 'Přihlásit se',
      after: ['Vaše heslo zůstává stejné.'],
    },
  },
];

// Czech declines names, which a template cannot: mails greet nobody by name.
const GREETING = 'Dobrý den,';

const CODE_STYLE =
  'margin:24px 0;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:28px;font-weight:600;letter-spacing:4px';
/** The mail's frame gives a `usher-button` a text colour that is readable on the brand's colour. */
const BUTTON_STYLE =
  "display:inline-block;padding:12px 22px;background:{{ brand.primaryColor | default: '#3451b2' }};border-radius:5px;color:#ffffff;font-weight:600;text-decoration:none";

function htmlOf({ lead, button, after }: Words, code: boolean): string {
  const paragraphs = (texts: readonly string[]): string[] => texts.map((each) => `<p>${each}</p>`);
  return [
    ...paragraphs([GREETING, ...lead]),
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

function textOf({ lead, button, after }: Words, code: boolean): string {
  const plain = lead.map((each) => each.replace(/<\/?strong>/g, ''));
  const parts = [GREETING, ...plain, ...(code ? ['    {{ code }}'] : [])];
  const link = button === null ? '' : `{% if url %}${button}:\n{{ url }}\n\n{% endif %}`;
  return `${parts.join('\n\n')}\n\n${link}${after.join('\n\n')}\n`;
}

/** The templates of all eight keys. */
export const AUTH_TEMPLATES: readonly TemplateSeed[] = KINDS.map(({ key, requiredVariables, code, words }) => ({
  key,
  locale: 'cs',
  requiredVariables,
  subject: words.subject,
  html: htmlOf(words, code),
  text: textOf(words, code),
}));
