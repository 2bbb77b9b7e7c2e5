import { plural } from '../../../words/formats.ts';
import type { people as en } from './en.ts';

const count = plural('cs');

export const people: typeof en = {
  title: 'Lidé',
  person: 'Osoba',
  lastSignIn: 'Poslední přihlášení',
  active: 'aktivní',
  inactive: 'neaktivní',
  blocked: 'zablokován(a)',
  expected: 'dosud bez přihlášení',
  search: 'Hledat lidi',
  anyRole: 'Jakákoli role',
  anyPermission: 'Jakékoli oprávnění',
  sort: 'Pořadí',
  sorts: {
    '': 'Podle prvního výskytu',
    email: 'Podle adresy',
    lastLoginAt: 'Naposledy přihlášení',
    createdAt: 'Nejnovější',
  },
  add: 'Přidat lidi',
  addLead: 'Vložte adresy ze seznamu, tabulky nebo e-mailu. Každý z těchto lidí dostane role zvolené níže.',
  addresses: 'E-mailové adresy',
  found: (n) => count(n, { one: `${n} adresa`, few: `${n} adresy`, other: `${n} adres` }),
  tooMany: (limit) => `Najednou nejvýše ${limit}.`,
  unread: (words) => `Není adresa: ${words}`,
  twice: (n) =>
    count(n, {
      one: `${n} byla uvedena dvakrát.`,
      few: `${n} byly uvedeny dvakrát.`,
      other: `${n} bylo uvedeno dvakrát.`,
    }),
  roles: 'Role',
  noRoles: 'Tato aplikace zatím nemá žádné role.',
  holders: (n) => count(n, { one: `${n} držitel`, few: `${n} držitelé`, other: `${n} držitelů` }),
  chooseRole: 'Zvolte roli.',
  oneRole: 'V této aplikaci se uděluje jedna role najednou.',
  addTitle: (n) => count(n, { one: `Přidat ${n} osobu`, few: `Přidat ${n} osoby`, other: `Přidat ${n} osob` }),
  added: (n) => count(n, { one: `Udělena ${n} role.`, few: `Uděleny ${n} role.`, other: `Uděleno ${n} rolí.` }),
  adding: (people, roles) => `${people}: ${roles}`,
  edit: 'Role',
  editOf: (email) => `Role osoby ${email}`,
  editLead: 'Bez role zůstanou osobě jen její výjimky.',
  changed: (email) => `Role osoby ${email} jsou změněny.`,
  nothing: 'Zatím se nic nemění.',
  gets: 'Získá',
  loses: 'Ztratí',
  conflict: 'Tyto role mezitím změnil někdo jiný. Vaše volba zůstala; co platí nyní, je označeno.',
  now: 'má ji nyní',
  chosen: (n) => count(n, { one: `Vybrána ${n}`, few: `Vybrány ${n}`, other: `Vybráno ${n}` }),
  give: 'Udělit role',
  take: (role) => `Odebrat ${role}`,
  taken: (n, role) =>
    count(n, { one: `Role ${role} odebrána ${n} osobě.`, other: `Role ${role} odebrána ${n} osobám.` }),
  empty: 'Zatím nikdo. Lidé se objeví s první rolí, výjimkou nebo přihlášením.',
};
