/** How brands look, for choices of brands and for those who design them (docs/reference/brands.md#looks). */

import { z } from 'zod';
import { tagOf } from '../../administration/records.ts';
import type { BrandRow } from '../../brands/brands.ts';
import { previewMail } from '../../brands/preview.ts';
import { unsubscribePage } from '../pages/unsubscribe.ts';
import { idParam, name, storableUrl, text } from '../route/fields.ts';
import { anyAdministrator, superAdmin } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';
import { brandColor } from './brands.ts';

const Look = record('BrandLook', {
  slug: z.string(),
  name: z.string(),
  primaryColor: z.string().nullable(),
  backgroundColor: z.string().nullable(),
  logoUrl: z.string().nullable(),
});

function toLook({ slug, name, primaryColor, backgroundColor, logoUrl }: BrandRow): z.output<typeof Look> {
  return { slug, name, primaryColor, backgroundColor, logoUrl };
}

const listLooks = defineRoute({
  method: 'get',
  path: '/api/brands',
  operation: 'listBrandLooks',
  tag: 'Brands',
  summary: 'How the brands look',
  description:
    'All brands by slug, for every administrator: what a choice of brands shows. Senders and mail servers stand in `/api/admin/brands`.',
  guard: anyAdministrator,
  headers: ['if-none-match'],
  response: z.array(Look),
  example: {
    response: [
      {
        slug: 'atelier',
        name: 'Atelier',
        primaryColor: '#3451b2',
        backgroundColor: null,
        logoUrl: 'https://atelier.example.com/logo.png',
      },
    ],
  },
  handle: async ({ brands }) => {
    const looks = (await brands.list()).map(toLook);
    return answer(looks, { etag: tagOf(looks) });
  },
});

const Preview = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('mail'),
    subject: z.string(),
    html: z.string().meta({ description: 'A whole document.' }),
    text: z.string(),
  }),
  z.strictObject({ kind: z.literal('unsubscribe'), html: z.string().meta({ description: 'A whole document.' }) }),
  z.strictObject({ kind: z.literal('push'), title: z.string(), body: z.string(), icon: z.string().nullable() }),
]);
type Kind = z.output<typeof Preview>['kind'];

/** The page behind a mail's link, as somebody sees it who has not used its button. */
function unsubscribePreview({ name, primaryColor, backgroundColor, logoUrl, footerText }: BrandRow): string {
  const brand = { name, primaryColor, backgroundColor, logoUrl, footerText };
  const { page } = unsubscribePage({
    state: 'ask',
    subscription: { appName: name, typeName: 'Newsletter', switchable: true, email: true, locale: 'en', brand },
    languages: undefined,
    settingsUrl: null,
    form: { does: 'unsubscribe', action: null },
  });
  return page;
}

const PREVIEWS: { readonly [K in Kind]: (brand: BrandRow) => Extract<z.output<typeof Preview>, { kind: K }> } = {
  mail: (brand) => ({ kind: 'mail', ...previewMail(brand) }),
  unsubscribe: (brand) => ({ kind: 'unsubscribe', html: unsubscribePreview(brand) }),
  push: ({ name, iconUrl }) => ({
    kind: 'push',
    title: name,
    body: `This is how a push from ${name} looks.`,
    icon: iconUrl,
  }),
};

// Nothing is stored or fetched here, so production takes http, too.
const url = storableUrl(true).nullable().optional();
const Draft = z.strictObject({
  kind: z.enum(['mail', 'unsubscribe', 'push']),
  name: name.optional(),
  primaryColor: brandColor.optional(),
  backgroundColor: brandColor.optional(),
  logoUrl: url,
  iconUrl: url,
  footerText: text(2000).nullable().optional(),
});

/** The brand with the fields of a draft in place of its own. */
function drafted(brand: BrandRow, { kind: _kind, ...draft }: z.output<typeof Draft>): BrandRow {
  const sent = Object.entries(draft).filter(([, value]) => value !== undefined);
  return { ...brand, ...Object.fromEntries(sent) };
}

const previewBrand = defineRoute({
  method: 'post',
  path: '/api/admin/brands/:id/preview',
  operation: 'previewBrand',
  tag: 'Brands',
  summary: 'Preview the look of a brand',
  description: [
    'Sample words in the look of the brand: a mail, the page behind its unsubscribe link, or a push. Nothing is sent or stored,',
    'and links and buttons lead nowhere. Fields of a look that are sent take the place of the stored ones: a draft can be seen',
    'before it is saved. A real push has the icon of its send.',
  ].join(' '),
  guard: superAdmin,
  params: z.strictObject({ id: idParam }),
  body: Draft,
  response: Preview,
  errors: ['NOT_FOUND'],
  example: { body: { kind: 'mail', primaryColor: '#aa3311' } },
  handle: async ({ brands }, { params, body }) => PREVIEWS[body.kind](drafted(await brands.get(params.id), body)),
});

export const brandLookRoutes: readonly Route[] = [listLooks, previewBrand];
