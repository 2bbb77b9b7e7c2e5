/** Panel česky. */

import { activity } from '../places/activity/cs.ts';
import { applications } from '../places/applications/cs.ts';
import { ask } from '../places/ask/cs.ts';
import { brands } from '../places/brands/cs.ts';
import { home } from '../places/home/cs.ts';
import { notifications } from '../places/notifications/cs.ts';
import { people } from '../places/people/cs.ts';
import { settings } from '../places/settings/cs.ts';
import { signIn } from '../places/sign-in/cs.ts';
import { session } from '../session/cs.ts';
import { shell } from '../shell/cs.ts';
import type { Text } from './en.ts';
import { plural } from './plural.ts';

const count = plural('cs');

export const cs: Text = {
  locale: 'cs',
  session,
  shell,
  home,
  applications,
  people,
  ask,
  activity,
  notifications,
  brands,
  signIn,
  settings,
  common: {
    save: 'Uložit',
    cancel: 'Zrušit',
    close: 'Zavřít',
    delete: 'Smazat',
    edit: 'Upravit',
    add: 'Přidat',
    remove: 'Odebrat',
    create: 'Vytvořit',
    apply: 'Použít',
    review: 'Zkontrolovat',
    undo: 'Vrátit',
    retry: 'Zkusit znovu',
    reload: 'Načíst znovu',
    copy: 'Kopírovat',
    copied: 'Zkopírováno',
    copyLink: 'Kopírovat odkaz',
    export: 'Export do CSV',
    search: 'Hledat',
    filter: 'Filtr',
    clear: 'Vymazat',
    all: 'Vše',
    none: 'Nic',
    yes: 'Ano',
    no: 'Ne',
    more: 'Zobrazit další',
    loading: 'Načítá se…',
    saving: 'Ukládá se…',
    saved: 'Uloženo.',
    never: 'nikdy',
    optional: 'nepovinné',
    unknown: 'neznámé',
    email: 'E-mailová adresa',
    name: 'Název',
    code: 'Kód',
    description: 'Popis',
    application: 'Aplikace',
    permission: 'Oprávnění',
    role: 'Role',
    level: 'Úroveň',
    record: 'Záznam',
    status: 'Stav',
    actions: 'Akce',
    rows: (n) => count(n, { one: `${n} řádek`, few: `${n} řádky`, other: `${n} řádků` }),
    people: (n) => count(n, { one: `${n} osoba`, few: `${n} osoby`, other: `${n} osob` }),
    viewOnly: 'Jen ke čtení',
    viewOnlyWhy: 'Toto smíte číst. Měnit to mohou SuperAdmini a správci aplikace.',
    empty: 'Zatím tu nic není.',
    noMatch: 'Filtru nic neodpovídá.',
    levels: { edit: 'úpravy', view: 'čtení', allowed: 'povoleno', none: 'bez přístupu', denied: 'zakázáno' },
    sources: {
      inactive: 'neaktivní',
      superadmin: 'SuperAdmin',
      app_admin: 'správce aplikace',
      override: 'výjimka',
      role: 'role',
      roles: 'role',
      default: 'nic to neuděluje',
      none: 'nic to neuděluje',
    },
  },
  impact: {
    title: 'Co se tím změní',
    asking: 'Zjišťuje se, kdo získá a kdo ztratí…',
    nobody: 'Nikdo přístup nezíská ani neztratí.',
    gained: (n) =>
      count(n, { one: `přibude ${n} přístup`, few: `přibudou ${n} přístupy`, other: `přibude ${n} přístupů` }),
    lost: (n) => count(n, { one: `ubude ${n} přístup`, few: `ubudou ${n} přístupy`, other: `ubude ${n} přístupů` }),
    people: (n) => count(n, { one: `týká se ${n} osoby`, other: `týká se ${n} osob` }),
    truncated: (n) => `Uvedeno je prvních ${n} změn. Počty jsou přesné.`,
    gainsEverywhere: 'Získá vše ve všech ostatních aplikacích.',
    losesEverywhere: 'Ztratí vše ve všech ostatních aplikacích.',
    stale: 'Někdo to mezitím změnil. Toto by vaše změna udělala nyní.',
    confirm: 'Použít',
    from: 'z',
    to: 'na',
  },
  problem: {
    title: 'Nepodařilo se',
    unreachable: 'Usher není dostupný. Co jste napsali, zůstává.',
    timeout: 'Usher neodpověděl včas.',
    forbidden: 'Toto nesmíte. Vaše práva se možná změnila: načtěte stránku znovu.',
    notFound: 'Neexistuje, nebo to nesmíte vidět.',
    stale: 'Někdo to změnil poté, co jste to otevřeli.',
    undoStale: 'Někdo to mezitím změnil. Nic se nevrátilo.',
    undoStaleIn: (apps) => `Někdo to mezitím změnil zde: ${apps}. Tam se nic nevrátilo.`,
    undoStalePartly: 'Někdo to mezitím změnil. Vrátila se jen část.',
    crashed: 'Tento pohled selhal. Zbytek panelu funguje.',
    requestId: 'Požadavek',
    retrying: 'Zkouší se znovu…',
  },
};
