import { CREDENTIALS, DOORS } from './doors.ts';
import { OUTSIDE, SENDING } from './effects.ts';
import { GUARDS, PEOPLE } from './guards.ts';
import type { Mutant } from './mutant.ts';

export type { Mutant } from './mutant.ts';

export const MUTANTS: readonly Mutant[] = [...DOORS, ...CREDENTIALS, ...GUARDS, ...PEOPLE, ...SENDING, ...OUTSIDE];
