import { plural } from '../../../words/formats.ts';
import type { manifest as en } from './en.ts';

const count = plural('cs');

export const manifest: typeof en = {
  title: 'Manifest',
  lead: 'Aplikace jako jeden text. Co tu změníte, je jen návrh, dokud ho neuložíte.',
  editor: 'Manifest jako YAML',
  compare: 'Porovnat s platným stavem',
  prune: 'Odebrat nejmenované',
  download: 'Stáhnout',
  reset: 'Zpět k platnému stavu',
  moved: 'Platný stav se od začátku změnil. Plán vychází z toho, co platí nyní.',
  same: 'Text odpovídá platnému stavu.',
  planning: 'Zjišťuje se, co by se změnilo…',
  plan: 'Co by se stalo',
  nothing: 'Nic by se nezměnilo.',
  faults: (n) => count(n, { one: `${n} chyba`, few: `${n} chyby`, other: `${n} chyb` }),
  line: (line) => `Řádek ${line}`,
  create: (n) => `nových: ${n}`,
  change: (n) => `změněných: ${n}`,
  remove: (n) => `odebraných: ${n}`,
  keep: (n) => `beze změny: ${n}`,
  ended: (n) =>
    count(n, {
      one: `${n} osoba přijde o roli`,
      few: `lidem se odeberou ${n} role`,
      other: `lidem se odebere ${n} rolí`,
    }),
  impact: 'Kdo získá a kdo ztratí',
  changes: 'Změny jedna po druhé',
  more: (n) => count(n, { one: `a ${n} další`, few: `a ${n} další`, other: `a ${n} dalších` }),
  does: { create: 'vznikne', change: 'změní se', remove: 'zanikne' },
  kinds: {
    application: 'aplikace',
    entity: 'entita',
    permission: 'oprávnění',
    role: 'role',
    notificationType: 'typ oznámení',
    template: 'šablona',
    admin: 'správce aplikace',
    assignment: 'role osoby',
    override: 'výjimka',
  },
  save: 'Uložit',
  applying: (done, total) => `${done} z ${total}`,
  applied: 'Manifest je uložen.',
  stale: 'Od tohoto plánu se něco změnilo. Toto je plán pro to, co platí nyní.',
  readOnly: 'Smíte ho číst. K uložení je potřeba úroveň úpravy.',
};
