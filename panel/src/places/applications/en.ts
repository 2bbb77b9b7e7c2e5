import { history } from './history/en.ts';
import { manifest } from './manifest/en.ts';
import { matrix } from './matrix/en.ts';
import { messages } from './messages/en.ts';
import { overview } from './overview/en.ts';
import { people } from './people/en.ts';
import { permissions } from './permissions/en.ts';
import { records } from './records/en.ts';

export const applications = {
  title: 'Applications',
  overview,
  matrix,
  permissions,
  people,
  records,
  messages,
  manifest,
  history,
};
