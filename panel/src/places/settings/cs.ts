import type { settings as en } from './en.ts';

export const settings: typeof en = {
  title: 'Nastavení',
};
