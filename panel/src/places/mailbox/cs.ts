import { plural } from '../../words/formats.ts';
import type { mailbox as en } from './en.ts';

const count = plural('cs');

export const mailbox: typeof en = {
  title: 'Schránka',
  heading: 'Vývojová schránka',
  lead: 'E-maily, které žádná značka nemůže odeslat, zůstávají zde, nejnovějších 200. V produkci schránka není.',
  filter: 'Příjemce nebo předmět',
  mails: (n) => count(n, { one: `${n} e-mail`, few: `${n} e-maily`, other: `${n} e-mailů` }),
  live: 'Nové e-maily se objeví samy.',
  away: 'Usher neodpovídá; zkouší se znovu.',
  empty: 'Zatím žádný e-mail.',
  emptyWhy: 'E-maily značek bez poštovního serveru přijdou sem hned po odeslání.',
  send: 'Odeslat oznámení',
  subject: 'Předmět',
  noSubject: '(bez předmětu)',
  from: 'Od',
  to: 'Komu',
  sent: 'Odesláno',
  messageId: 'ID zprávy',
  html: 'HTML',
  text: 'Text',
  headers: 'Hlavičky',
  frame: 'E-mail jako HTML',
  scheme: 'Světlý nebo tmavý poštovní program',
  light: 'Světlý',
  dark: 'Tmavý',
  width: 'Šířka',
  widths: { '600': '600 px', '390': '390 px' },
  gone: 'Tento e-mail zde už není.',
  goneWhy: 'Uchovává se jen 200 nejnovějších e-mailů.',
  all: 'Všechny e-maily',
  signedOut: 'Nejste přihlášeni.',
  signIn: 'Přihlásit se',
};
