import { defineEntity, p } from '@mikro-orm/core';
import { reference } from './columns.ts';

/**
 * The refresh token that a token endpoint gave in place of the one that a brand was configured with (docs/reference/brands.md#smtp-by-oauth-20), sealed; null while it has
 * given none. `takenUntil`: a process uses it until then, at the latest.
 */
export const BrandRefresh = defineEntity({
  name: 'BrandRefresh',
  properties: {
    brandId: reference().primary().autoincrement(false),
    refreshToken: p.text().nullable(),
    takenUntil: p.datetime(3).nullable(),
  },
});
