import type { matrix as en } from './en.ts';

export const matrix: typeof en = {
  title: 'Role',
};
