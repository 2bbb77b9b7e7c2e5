import type { records as en } from './en.ts';

export const records: typeof en = {
  title: 'Záznamy',
};
