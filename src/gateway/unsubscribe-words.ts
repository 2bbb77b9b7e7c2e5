/** What the unsubscribe page says, by language. A language is one row here. */

import { type Html, html } from './html.ts';

/** What the page shows: a question, what a button did, or why there is no button. */
export type State = 'ask' | 'off' | 'on' | 'locked' | 'damaged' | 'gone' | 'trouble';

export interface Words {
  readonly title: Readonly<Record<State, string>>;
  /** `type` and `app` are names; without them those texts that need none. */
  text(state: State, type: string, app: string): Html;
  readonly unsubscribe: string;
  readonly resubscribe: string;
  readonly settings: string;
}

const named = (name: string): Html => html`<bdi>${name}</bdi>`;

const ENGLISH: Words = {
  title: {
    ask: 'Unsubscribe',
    off: 'Unsubscribed',
    on: 'Switched on again',
    locked: 'These e-mails cannot be switched off',
    damaged: 'This link does not work',
    gone: 'This link is out of date',
    trouble: 'Something went wrong',
  },
  text: (state, type, app) =>
    ({
      ask: html`No more e-mails of the kind “${named(type)}” from ${named(app)}?`,
      off: html`You will get no more e-mails of the kind “${named(type)}” from ${named(app)}.`,
      on: html`You will get e-mails of the kind “${named(type)}” from ${named(app)} again.`,
      locked: html`E-mails of the kind “${named(type)}” from ${named(app)} go to everybody they concern.`,
      damaged: html`It is incomplete, or it was changed on its way. Open it from the e-mail itself, or copy the whole address.`,
      gone: html`There is nothing to unsubscribe from: this kind of e-mail, or your account, no longer exists.`,
      trouble: html`Please try again in a moment. Trying twice does no harm.`,
    })[state],
  unsubscribe: 'Unsubscribe',
  resubscribe: 'Switch them on again',
  settings: 'Your settings',
};

const CZECH: Words = {
  title: {
    ask: 'Odhlásit odběr',
    off: 'Odběr je odhlášen',
    on: 'Odběr je znovu zapnutý',
    locked: 'Tyto e-maily nelze vypnout',
    damaged: 'Tento odkaz nefunguje',
    gone: 'Tento odkaz už neplatí',
    trouble: 'Něco se nepovedlo',
  },
  text: (state, type, app) =>
    ({
      ask: html`Nechcete už dostávat e-maily druhu „${named(type)}“ od aplikace ${named(app)}?`,
      off: html`E-maily druhu „${named(type)}“ od aplikace ${named(app)} vám už nebudou chodit.`,
      on: html`E-maily druhu „${named(type)}“ od aplikace ${named(app)} vám budou znovu chodit.`,
      locked: html`E-maily druhu „${named(type)}“ od aplikace ${named(app)} dostává každý, koho se týkají.`,
      damaged: html`Je neúplný, nebo se cestou změnil. Otevřete ho přímo z e-mailu, nebo zkopírujte celou adresu.`,
      gone: html`Není co odhlašovat: tento druh e-mailů nebo váš účet už neexistuje.`,
      trouble: html`Zkuste to prosím za chvíli znovu. Opakovaný pokus ničemu nevadí.`,
    })[state],
  unsubscribe: 'Odhlásit odběr',
  resubscribe: 'Znovu zapnout',
  settings: 'Vaše nastavení',
};

const GERMAN: Words = {
  title: {
    ask: 'Abbestellen',
    off: 'Abbestellt',
    on: 'Wieder eingeschaltet',
    locked: 'Diese E-Mails lassen sich nicht abbestellen',
    damaged: 'Dieser Link funktioniert nicht',
    gone: 'Dieser Link ist veraltet',
    trouble: 'Etwas ist schiefgegangen',
  },
  text: (state, type, app) =>
    ({
      ask: html`Keine E-Mails der Art „${named(type)}“ von ${named(app)} mehr erhalten?`,
      off: html`Sie erhalten keine E-Mails der Art „${named(type)}“ von ${named(app)} mehr.`,
      on: html`Sie erhalten wieder E-Mails der Art „${named(type)}“ von ${named(app)}.`,
      locked: html`E-Mails der Art „${named(type)}“ von ${named(app)} erhalten alle, die sie betreffen.`,
      damaged: html`Er ist unvollständig oder wurde unterwegs verändert. Öffnen Sie ihn direkt aus der E-Mail oder kopieren Sie die ganze Adresse.`,
      gone: html`Es gibt nichts mehr abzubestellen: Diese Art von E-Mails oder Ihr Konto gibt es nicht mehr.`,
      trouble: html`Bitte versuchen Sie es gleich noch einmal. Ein zweiter Versuch schadet nicht.`,
    })[state],
  unsubscribe: 'Abbestellen',
  resubscribe: 'Wieder einschalten',
  settings: 'Ihre Einstellungen',
};

const SLOVAK: Words = {
  title: {
    ask: 'Odhlásiť odber',
    off: 'Odber je odhlásený',
    on: 'Odber je znova zapnutý',
    locked: 'Tieto e-maily sa nedajú vypnúť',
    damaged: 'Tento odkaz nefunguje',
    gone: 'Tento odkaz už neplatí',
    trouble: 'Niečo sa nepodarilo',
  },
  text: (state, type, app) =>
    ({
      ask: html`Nechcete už dostávať e-maily druhu „${named(type)}“ od aplikácie ${named(app)}?`,
      off: html`E-maily druhu „${named(type)}“ od aplikácie ${named(app)} vám už nebudú chodiť.`,
      on: html`E-maily druhu „${named(type)}“ od aplikácie ${named(app)} vám budú znova chodiť.`,
      locked: html`E-maily druhu „${named(type)}“ od aplikácie ${named(app)} dostáva každý, koho sa týkajú.`,
      damaged: html`Je neúplný, alebo sa cestou zmenil. Otvorte ho priamo z e-mailu, alebo skopírujte celú adresu.`,
      gone: html`Nie je čo odhlasovať: tento druh e-mailov alebo váš účet už neexistuje.`,
      trouble: html`Skúste to prosím o chvíľu znova. Opakovaný pokus ničomu nevadí.`,
    })[state],
  unsubscribe: 'Odhlásiť odber',
  resubscribe: 'Znova zapnúť',
  settings: 'Vaše nastavenia',
};

const LANGUAGES: ReadonlyMap<string, Words> = new Map([
  ['cs', CZECH],
  ['de', GERMAN],
  ['en', ENGLISH],
  ['sk', SLOVAK],
]);

/** The person's own language where this page speaks it, else the first of the browser's that it speaks, else English. */
export function wordsFor(locale: string | null, accepted: string | undefined): { language: string; words: Words } {
  for (const tag of [...(locale === null ? [] : [locale]), ...byWeight(accepted ?? '')]) {
    const language = tag.split('-', 1)[0] ?? '';
    const words = LANGUAGES.get(language);
    if (words !== undefined) return { language, words };
  }
  return { language: 'en', words: ENGLISH };
}

/** The tags of an `Accept-Language`, the most wanted first; what is refused (`q=0`) is left out. */
function byWeight(accepted: string): string[] {
  return accepted
    .split(',', 20)
    .map((range) => {
      const [tag = '', weight] = range.split(';q=', 2);
      return { tag: tag.trim().toLowerCase(), weight: weight === undefined ? 1 : Number(weight) };
    })
    .filter(({ weight }) => weight > 0)
    .toSorted((one, other) => other.weight - one.weight)
    .map(({ tag }) => tag);
}
