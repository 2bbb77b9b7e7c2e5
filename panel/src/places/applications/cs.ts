import type { applications as en } from './en.ts';

export const applications: typeof en = {
  title: 'Aplikace',
};
