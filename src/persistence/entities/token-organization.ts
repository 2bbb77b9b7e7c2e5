import { defineEntity, p } from '@mikro-orm/core';
import { stamp } from './columns.ts';

/** An organization of the identity provider, from whose people a token was admitted (docs/reference/callers.md#several-organizations). */
export const TokenOrganization = defineEntity({
  name: 'TokenOrganization',
  properties: { id: p.text().primary(), createdAt: stamp() },
});
