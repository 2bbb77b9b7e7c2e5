import type { Template } from '../../../../../src/gen/api.ts';

export function templateHref(
  appCode: string,
  { type, key, locale }: Pick<Template, 'type' | 'key' | 'locale'>,
): string {
  return `/applications/${[appCode, 'messages', type, key, locale].map(encodeURIComponent).join('/')}`;
}
