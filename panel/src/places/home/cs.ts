import { shell } from '../../shell/cs.ts';
import { plural } from '../../words/formats.ts';
import type { home as en } from './en.ts';

const count = plural('cs');

export const home: typeof en = {
  title: shell.places.home,
  mailbox: 'Vývojová schránka',
  needs: 'Co teď někoho potřebuje',
  need: {
    failing: 'selhalo za 24 hodin',
    waiting: 'čeká na odeslání',
    brands: 'značky, které neodesílají',
    provider: 'Poskytovatel identity není dostupný',
    comparison: 'Lidé neporovnáni s poskytovatelem',
    orphans: 'neaktivní, ale s právy',
    ending: 'oprávnění končí do 7 dnů',
  },
  needWhy: {
    failing: () => 'Oznámení, která nedošla, nebo jen jedním kanálem.',
    waiting: (ago) => `Nejstarší bylo přijato ${ago ?? ''}.`,
    brands: () => '',
    provider: (ago) => (ago === null ? 'Nelze se k němu připojit.' : `Jeho poslední událost přišla ${ago}.`),
    comparison: (ago) => `Poslední porovnání se zastavilo ${ago ?? ''} a nic dalšího nezměnilo.`,
    ending: () => 'Role, výjimky a správy. Prodlužte je, nebo je nechte skončit.',
    orphans: () => 'Lidé, kteří by práva po odblokování měli znovu.',
  },
  quiet: 'Všude klid.',
  askSomething: 'Na něco se zeptejte.',
  questions: [
    'Proč Clara nesmí otevřít projekt 1042?',
    'Smí Ben uzavřít projekt 1042?',
    'Proč Dan nesmí schvalovat faktury?',
  ],
  anyQuestion: 'Smí někdo něco, a proč?',
  counts: 'Co tu je',
  count: {
    applications: (n) => count(n, { one: 'aplikace', few: 'aplikace', other: 'aplikací' }),
    people: (n) => count(n, { one: 'osoba', few: 'osoby', other: 'osob' }),
    roles: (n) => count(n, { one: 'role', few: 'role', other: 'rolí' }),
    permissions: (n) => count(n, { one: 'oprávnění', other: 'oprávnění' }),
    appAdmins: (n) => count(n, { one: 'správce aplikace', few: 'správci aplikací', other: 'správců aplikací' }),
    sent: (n) => count(n, { one: 'odesláno za 24 hodin', other: 'odesláno za 24 hodin' }),
  },
  changes: 'Poslední změny',
  changesOf: (app) => `Poslední změny v aplikaci ${app}`,
  all: 'Vše',
  noChanges: 'Zatím se nic nezměnilo.',
  recents: 'Naposledy otevřené',
  noRecents: 'Zde budou aplikace a lidé, které otevřete, jen pro tento prohlížeč.',
  showTour: 'Znovu zobrazit prohlídku',
  own: 'Co smíte',
  nothingOwn: 'Žádná aplikace vám zatím nic neudělila.',
  andMore: (n) => count(n, { one: `a ještě ${n}`, few: `a ještě ${n}`, other: `a dalších ${n}` }),
  tour: {
    title: 'Prohlídka v pěti krocích',
    dismiss: 'Skrýt',
    steps: [
      { title: 'Položte otázku', text: 'Smí Clara vidět faktury? Uvidíte odpověď a pravidlo, které rozhodlo.' },
      { title: 'Zjistěte, co by ji změnilo', text: 'Odpověď uvádí nejmenší změny, které by z ne udělaly ano.' },
      {
        title: 'Podívejte se na roli',
        text: 'Matice ukazuje, co každá role uděluje. Šipkami se pohybujete, mezerníkem měníte.',
      },
      { title: 'Uvidíte, kdo získá, dříve než uložíte', text: 'Každá změna předem říká, kdo získá a kdo ztratí.' },
      { title: 'Přečtěte si, co se stalo', text: 'Aktivita obsahuje každou změnu i toho, kdo ji udělal.' },
    ],
    done: 'Hotovo',
    open: 'Ukázat',
  },
};
