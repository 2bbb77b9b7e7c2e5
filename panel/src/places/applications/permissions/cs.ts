import type { permissions as en } from './en.ts';

export const permissions: typeof en = {
  title: 'Oprávnění',
};
