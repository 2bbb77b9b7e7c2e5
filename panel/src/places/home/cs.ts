import type { home as en } from './en.ts';

export const home: typeof en = {
  title: 'Přehled',
};
