import { shell } from '../../shell/en.ts';
import { history } from './history/en.ts';
import { manifest } from './manifest/en.ts';
import { matrix } from './matrix/en.ts';
import { messages } from './messages/en.ts';
import { overview } from './overview/en.ts';
import { people } from './people/en.ts';
import { permissions } from './permissions/en.ts';
import { records } from './records/en.ts';

export const applications = {
  title: shell.places.applications,
  new: 'New application',
  made: (name: string) => `${name} created.`,
  codeHint: 'Lower-case letters and digits, with single . _ or - between them. It cannot be changed later.',
  pasteManifest: 'Paste a manifest',
  startDemo: 'Start from the demonstration',
  fromManifest: 'From a manifest',
  manifestLabel: 'Manifest',
  manifestHint: 'YAML or JSON. What it would do is shown before it is saved.',
  empty: 'No applications yet. An application holds permissions, roles and who has them.',
  sort: 'Sort by',
  sorts: {
    name: 'By name',
    code: 'By code',
    people: 'Most people',
    roles: 'Most roles',
    permissions: 'Most permissions',
    changed: 'Last changed',
  },
  counts: { people: 'People', roles: 'Roles', permissions: 'Permissions', admins: 'Admins' },
  overview,
  matrix,
  permissions,
  people,
  records,
  messages,
  manifest,
  history,
};
