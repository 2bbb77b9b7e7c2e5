import type { ask as en } from './en.ts';

export const ask: typeof en = {
  title: 'Dotazy',
};
