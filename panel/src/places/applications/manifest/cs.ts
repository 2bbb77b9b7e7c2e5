import type { manifest as en } from './en.ts';

export const manifest: typeof en = {
  title: 'Manifest',
};
