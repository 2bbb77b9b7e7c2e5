import type { history as en } from './en.ts';

export const history: typeof en = {
  title: 'Historie',
};
