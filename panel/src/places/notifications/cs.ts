import type { notifications as en } from './en.ts';

export const notifications: typeof en = {
  title: 'Oznámení',
};
