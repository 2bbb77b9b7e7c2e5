import { defineEntity, p } from '@mikro-orm/core';
import { stamp } from './columns.ts';

/** An uploaded image of a brand (docs/reference/brands.md#uploaded-images); written by persistence/brands/images.ts. */
export const Image = defineEntity({
  name: 'Image',
  properties: {
    name: p.text().primary(),
    media: p.text(),
    content: p.text(),
    shownAt: stamp(),
  },
});
