import type { messages as en } from './en.ts';

export const messages: typeof en = {
  title: 'Typy a šablony',
};
