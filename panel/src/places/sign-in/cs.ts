import type { signIn as en } from './en.ts';

export const signIn: typeof en = {
  title: 'Přihlašování',
};
