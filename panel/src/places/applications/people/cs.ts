import type { people as en } from './en.ts';

export const people: typeof en = {
  title: 'Lidé',
};
