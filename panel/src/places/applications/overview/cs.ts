import type { overview as en } from './en.ts';

export const overview: typeof en = {
  title: 'Přehled',
};
