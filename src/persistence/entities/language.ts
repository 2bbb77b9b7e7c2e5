import { defineEntity, p } from '@mikro-orm/core';

/** The registry of languages; `fallback` is the next one to try. */
export const Language = defineEntity({
  name: 'Language',
  properties: {
    code: p.text().primary(),
    name: p.text(),
    nativeName: p.text(),
    fallback: p.text().nullable(),
  },
});
