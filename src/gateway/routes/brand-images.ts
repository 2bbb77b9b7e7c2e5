/** Logos and icons that are uploaded, and the images themselves (docs/reference/brands.md#uploaded-images). */

import { z } from 'zod';
import { IMAGE_TYPES } from '../../brands/images.ts';
import { rawImage } from '../route/bodies.ts';
import type { ValueEnvelope } from '../route/envelopes.ts';
import { idParam } from '../route/fields.ts';
import { open, superAdmin } from '../route/guards.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';
import { Brand, brandToJson } from './brands.ts';

const Params = z.strictObject({ id: idParam });
const TYPES = Object.keys(IMAGE_TYPES) as [string, ...string[]];

/** As `image/svg+xml`. */
const EXAMPLE =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="#3451b2"/></svg>';

const PARTS = [
  { name: 'logo', field: 'logoUrl', operation: 'Logo' },
  { name: 'icon', field: 'iconUrl', operation: 'Icon' },
] as const;

const uploads = PARTS.flatMap(({ name, field, operation }): Route[] => [
  defineRoute({
    method: 'put',
    path: `/api/admin/brands/:id/${name}`,
    operation: `uploadBrand${operation}`,
    tag: 'Brands',
    summary: `Upload the ${name} of a brand`,
    description: `The body is the image itself, at most 512 KiB. SVG is kept without scripts, links and what loads from elsewhere. \`${field}\` is then its address here, which never changes what it means.`,
    guard: superAdmin,
    refusal: 'brand.changed.refused',
    params: Params,
    body: rawImage(TYPES),
    example: { body: EXAMPLE },
    response: Brand,
    errors: ['NOT_FOUND', 'UNSUPPORTED_MEDIA_TYPE'],
    handle: async ({ brands }, input) => {
      const { result, revision } = await brands.setImage(input.params.id, field, input.body, input);
      return answer(brandToJson(result, true), { revision });
    },
  }),
  defineRoute({
    method: 'delete',
    path: `/api/admin/brands/:id/${name}`,
    operation: `removeBrand${operation}`,
    tag: 'Brands',
    summary: `Remove the ${name} of a brand`,
    description: 'Mails that were sent show the image for 90 days.',
    guard: superAdmin,
    refusal: 'brand.changed.refused',
    params: Params,
    response: Brand,
    errors: ['NOT_FOUND'],
    handle: async ({ brands }, input) => {
      const { result, revision } = await brands.setImage(input.params.id, field, null, input);
      return answer(brandToJson(result, true), { revision });
    },
  }),
]);

/** Bytes whose type the answer names. */
const image: ValueEnvelope = {
  kind: 'value',
  name: 'image',
  media: ['application/octet-stream'],
  encode: (payload) => payload as Buffer,
  describe: () => ({ type: 'string', format: 'binary' }),
};

/** An SVG that is opened by itself runs nothing and loads nothing. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

const readImage = defineRoute({
  method: 'get',
  path: '/media/:name',
  operation: 'getImage',
  tag: 'Brands',
  summary: 'An uploaded image',
  description: 'For anybody: mails and pages show it. Kept while a brand has it, and for 90 days after.',
  guard: open,
  params: z.strictObject({ name: z.string() }),
  envelope: image,
  response: z.unknown(),
  cacheControl: 'public, max-age=31536000, immutable',
  forPeople: true,
  errors: ['NOT_FOUND'],
  handle: async ({ brands }, { params }) => {
    const { media, bytes } = await brands.image(params.name);
    const headers = { 'content-type': media, 'cross-origin-resource-policy': 'cross-origin' };
    return answer(bytes, { headers, policy: POLICY });
  },
});

export const brandImageRoutes: readonly Route[] = [...uploads, readImage];
