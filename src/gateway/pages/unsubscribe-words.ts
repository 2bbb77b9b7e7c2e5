/** The texts of the unsubscribe page, one row for each language. */

import { type Html, html } from './html.ts';

/** The states of the page: a question, the effect of a button, or the reason for no button. */
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
      ask: html`Stop e-mails of the kind “${named(type)}” from ${named(app)}?`,
      off: html`You will no longer get e-mails of the kind “${named(type)}” from ${named(app)}.`,
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

const FRENCH: Words = {
  title: {
    ask: 'Se désabonner',
    off: 'Désabonnement effectué',
    on: 'De nouveau activé',
    locked: 'Ces e-mails ne peuvent pas être désactivés',
    damaged: 'Ce lien ne fonctionne pas',
    gone: 'Ce lien n’est plus valable',
    trouble: 'Une erreur est survenue',
  },
  text: (state, type, app) =>
    ({
      ask: html`Ne plus recevoir d’e-mails de type « ${named(type)} » de ${named(app)} ?`,
      off: html`Vous ne recevrez plus d’e-mails de type « ${named(type)} » de ${named(app)}.`,
      on: html`Vous recevrez de nouveau les e-mails de type « ${named(type)} » de ${named(app)}.`,
      locked: html`Les e-mails de type « ${named(type)} » de ${named(app)} sont envoyés à toutes les personnes concernées.`,
      damaged: html`Il est incomplet ou a été modifié en chemin. Ouvrez-le depuis l’e-mail, ou copiez l’adresse entière.`,
      gone: html`Il n’y a plus rien à désactiver : ce type d’e-mail ou votre compte n’existe plus.`,
      trouble: html`Réessayez dans un instant. Un second essai est sans risque.`,
    })[state],
  unsubscribe: 'Se désabonner',
  resubscribe: 'Réactiver',
  settings: 'Vos paramètres',
};

const SPANISH: Words = {
  title: {
    ask: 'Darse de baja',
    off: 'Baja realizada',
    on: 'Activado de nuevo',
    locked: 'Estos correos no se pueden desactivar',
    damaged: 'Este enlace no funciona',
    gone: 'Este enlace ya no es válido',
    trouble: 'Algo ha salido mal',
  },
  text: (state, type, app) =>
    ({
      ask: html`¿No recibir más correos del tipo «${named(type)}» de ${named(app)}?`,
      off: html`Ya no recibirá correos del tipo «${named(type)}» de ${named(app)}.`,
      on: html`Volverá a recibir correos del tipo «${named(type)}» de ${named(app)}.`,
      locked: html`Los correos del tipo «${named(type)}» de ${named(app)} se envían a todas las personas afectadas.`,
      damaged: html`Está incompleto o se modificó por el camino. Ábralo desde el propio correo o copie la dirección entera.`,
      gone: html`No hay nada que desactivar: este tipo de correo o su cuenta ya no existe.`,
      trouble: html`Inténtelo de nuevo en un momento. Repetirlo no causa ningún problema.`,
    })[state],
  unsubscribe: 'Darse de baja',
  resubscribe: 'Volver a activar',
  settings: 'Sus ajustes',
};

const ITALIAN: Words = {
  title: {
    ask: 'Annulla l’iscrizione',
    off: 'Iscrizione annullata',
    on: 'Di nuovo attivo',
    locked: 'Queste e-mail non si possono disattivare',
    damaged: 'Questo link non funziona',
    gone: 'Questo link non è più valido',
    trouble: 'Qualcosa è andato storto',
  },
  text: (state, type, app) =>
    ({
      ask: html`Non ricevere più e-mail del tipo “${named(type)}” da ${named(app)}?`,
      off: html`Non riceverà più e-mail del tipo “${named(type)}” da ${named(app)}.`,
      on: html`Riceverà di nuovo e-mail del tipo “${named(type)}” da ${named(app)}.`,
      locked: html`Le e-mail del tipo “${named(type)}” da ${named(app)} sono inviate a tutte le persone interessate.`,
      damaged: html`È incompleto o è stato modificato lungo il percorso. Lo apra dall’e-mail stessa o copi l’indirizzo intero.`,
      gone: html`Non c’è nulla da disattivare: questo tipo di e-mail o il suo account non esiste più.`,
      trouble: html`Riprovi tra un momento. Un secondo tentativo non crea problemi.`,
    })[state],
  unsubscribe: 'Annulla l’iscrizione',
  resubscribe: 'Riattiva',
  settings: 'Le sue impostazioni',
};

const DUTCH: Words = {
  title: {
    ask: 'Afmelden',
    off: 'Afgemeld',
    on: 'Weer ingeschakeld',
    locked: 'Deze e-mails kunnen niet worden uitgeschakeld',
    damaged: 'Deze link werkt niet',
    gone: 'Deze link is verlopen',
    trouble: 'Er is iets misgegaan',
  },
  text: (state, type, app) =>
    ({
      ask: html`Geen e-mails van het soort ‘${named(type)}’ van ${named(app)} meer ontvangen?`,
      off: html`U ontvangt geen e-mails van het soort ‘${named(type)}’ van ${named(app)} meer.`,
      on: html`U ontvangt weer e-mails van het soort ‘${named(type)}’ van ${named(app)}.`,
      locked: html`E-mails van het soort ‘${named(type)}’ van ${named(app)} gaan naar iedereen voor wie ze bedoeld zijn.`,
      damaged: html`De link is onvolledig of onderweg gewijzigd. Open hem vanuit de e-mail zelf of kopieer het hele adres.`,
      gone: html`Er valt niets af te melden: dit soort e-mail of uw account bestaat niet meer.`,
      trouble: html`Probeer het zo dadelijk opnieuw. Twee keer proberen kan geen kwaad.`,
    })[state],
  unsubscribe: 'Afmelden',
  resubscribe: 'Weer inschakelen',
  settings: 'Uw instellingen',
};

const POLISH: Words = {
  title: {
    ask: 'Rezygnacja z e-maili',
    off: 'Zrezygnowano',
    on: 'Włączono ponownie',
    locked: 'Tych e-maili nie można wyłączyć',
    damaged: 'Ten link nie działa',
    gone: 'Ten link jest nieaktualny',
    trouble: 'Coś poszło nie tak',
  },
  text: (state, type, app) =>
    ({
      ask: html`Nie chcesz już otrzymywać e-maili rodzaju „${named(type)}” od ${named(app)}?`,
      off: html`Nie będziesz już otrzymywać e-maili rodzaju „${named(type)}” od ${named(app)}.`,
      on: html`Znów będziesz otrzymywać e-maile rodzaju „${named(type)}” od ${named(app)}.`,
      locked: html`E-maile rodzaju „${named(type)}” od ${named(app)} otrzymują wszyscy, których dotyczą.`,
      damaged: html`Jest niepełny lub został po drodze zmieniony. Otwórz go z samego e-maila albo skopiuj cały adres.`,
      gone: html`Nie ma z czego rezygnować: ten rodzaj e-maili lub Twoje konto już nie istnieje.`,
      trouble: html`Spróbuj ponownie za chwilę. Powtórna próba niczemu nie szkodzi.`,
    })[state],
  unsubscribe: 'Rezygnuję',
  resubscribe: 'Włącz ponownie',
  settings: 'Twoje ustawienia',
};

const PORTUGUESE: Words = {
  title: {
    ask: 'Cancelar a subscrição',
    off: 'Subscrição cancelada',
    on: 'Ativado de novo',
    locked: 'Estes e-mails não podem ser desativados',
    damaged: 'Este link não funciona',
    gone: 'Este link já não é válido',
    trouble: 'Algo correu mal',
  },
  text: (state, type, app) =>
    ({
      ask: html`Não receber mais e-mails do tipo “${named(type)}” de ${named(app)}?`,
      off: html`Deixará de receber e-mails do tipo “${named(type)}” de ${named(app)}.`,
      on: html`Voltará a receber e-mails do tipo “${named(type)}” de ${named(app)}.`,
      locked: html`Os e-mails do tipo “${named(type)}” de ${named(app)} são enviados a todas as pessoas a quem dizem respeito.`,
      damaged: html`Está incompleto ou foi alterado pelo caminho. Abra-o a partir do próprio e-mail ou copie o endereço completo.`,
      gone: html`Não há nada para desativar: este tipo de e-mail ou a sua conta já não existe.`,
      trouble: html`Tente de novo daqui a pouco. Repetir não causa problemas.`,
    })[state],
  unsubscribe: 'Cancelar a subscrição',
  resubscribe: 'Ativar de novo',
  settings: 'As suas definições',
};

/** Those in which a mail names its link (delivery/layout.ts). */
const LANGUAGES: ReadonlyMap<string, Words> = new Map([
  ['cs', CZECH],
  ['de', GERMAN],
  ['en', ENGLISH],
  ['es', SPANISH],
  ['fr', FRENCH],
  ['it', ITALIAN],
  ['nl', DUTCH],
  ['pl', POLISH],
  ['pt', PORTUGUESE],
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
