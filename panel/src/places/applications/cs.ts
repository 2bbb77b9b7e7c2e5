import { shell } from '../../shell/cs.ts';
import type { applications as en } from './en.ts';
import { history } from './history/cs.ts';
import { manifest } from './manifest/cs.ts';
import { matrix } from './matrix/cs.ts';
import { messages } from './messages/cs.ts';
import { overview } from './overview/cs.ts';
import { people } from './people/cs.ts';
import { permissions } from './permissions/cs.ts';
import { records } from './records/cs.ts';

export const applications: typeof en = {
  title: shell.places.applications,
  new: 'Nová aplikace',
  made: (name) => `Aplikace ${name} vytvořena.`,
  codeHint: 'Malá písmena a číslice, mezi nimi jednotlivě . _ nebo -. Později jej nelze změnit.',
  pasteManifest: 'Vložit manifest',
  startDemo: 'Začít ukázkou',
  fromManifest: 'Z manifestu',
  manifestLabel: 'Manifest',
  manifestHint: 'YAML nebo JSON. Co by udělal, uvidíte před uložením.',
  empty: 'Zatím žádné aplikace. Aplikace má oprávnění, role a ty, kdo je mají.',
  sort: 'Řadit podle',
  sorts: {
    name: 'Podle názvu',
    code: 'Podle kódu',
    people: 'Nejvíce lidí',
    roles: 'Nejvíce rolí',
    permissions: 'Nejvíce oprávnění',
    changed: 'Naposledy změněné',
  },
  counts: { people: 'Lidé', roles: 'Role', permissions: 'Oprávnění', admins: 'Správci' },
  overview,
  matrix,
  permissions,
  people,
  records,
  messages,
  manifest,
  history,
};
