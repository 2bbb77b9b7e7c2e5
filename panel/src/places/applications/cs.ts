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
  title: 'Aplikace',
  overview,
  matrix,
  permissions,
  people,
  records,
  messages,
  manifest,
  history,
};
