import { defineEntity, p } from '@mikro-orm/core';
import { stamp } from './columns.ts';

/** The hash of a sent e-mail of the identity provider, so that an identical call sends nothing. */
export const AuthMail = defineEntity({
  name: 'AuthMail',
  properties: {
    hash: p.text().primary(),
    status: p.text().$type<'sending' | 'sent'>(),
    templateSource: p.text().nullable(),
    at: stamp(),
  },
});
