import { AHEAD } from './ahead.ts';
import { BOUNDARIES } from './boundaries.ts';
import { CREDENTIALS, DOORS } from './doors.ts';
import { DRY_RUNS } from './dry-runs.ts';
import { EARLY_RELEASE } from './early-release.ts';
import { EDGES } from './edges.ts';
import { SENDING } from './effects.ts';
import { FRONT } from './front.ts';
import { GUARDS, PEOPLE } from './guards.ts';
import { LISTS } from './lists.ts';
import { MAIL_ACCOUNTS } from './mail-accounts.ts';
import type { Mutant } from './mutant.ts';
import { OPERATIONS } from './operations.ts';
import { OUTSIDE } from './outside.ts';
import { PANEL } from './panel.ts';
import { PROVIDER } from './provider.ts';
import { QUESTIONS } from './questions.ts';
import { REPLICAS } from './replicas.ts';
import { RETENTION } from './retention.ts';
import { WATCH } from './watch.ts';

export type { Mutant } from './mutant.ts';

export const MUTANTS: readonly Mutant[] = [
  ...DOORS,
  ...QUESTIONS,
  ...LISTS,
  ...DRY_RUNS,
  ...WATCH,
  ...EDGES,
  ...REPLICAS,
  ...AHEAD,
  ...BOUNDARIES,
  ...EARLY_RELEASE,
  ...CREDENTIALS,
  ...GUARDS,
  ...PEOPLE,
  ...SENDING,
  ...OUTSIDE,
  ...MAIL_ACCOUNTS,
  ...PROVIDER,
  ...FRONT,
  ...PANEL,
  ...OPERATIONS,
  ...RETENTION,
];
