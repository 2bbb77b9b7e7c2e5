import type { activity as en } from './en.ts';

export const activity: typeof en = {
  title: 'Aktivita',
};
