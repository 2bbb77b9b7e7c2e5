import type { brands as en } from './en.ts';

export const brands: typeof en = {
  title: 'Značky',
};
