/** The document of all routes, for programs and for people (docs/reference/service.md#documents). */

import { z } from 'zod';
import { lazy } from '../../base/lazy.ts';
import { product } from '../../base/product.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { DOCUMENTATION_HEADERS, documentationPage, documentationProblem } from '../pages/documentation.ts';
import { bare, HTML_TYPE, text } from '../route/envelopes.ts';
import { open } from '../route/guards.ts';
import { defineRoute, type Route } from '../route/route.ts';

const CACHE = 'public, max-age=300';

/** Both routes document themselves too. Made on the first request, so that a start does not wait for it. */
export function documentation(routes: readonly Route[]): readonly Route[] {
  const made = lazy(async () => {
    const { openApiDocument } = await import('../openapi/document.ts');
    return await openApiDocument([...routes, ...own], product().version);
  });

  const own: readonly Route[] = [
    defineRoute({
      method: 'get',
      path: '/api/openapi.json',
      operation: 'getOpenApi',
      tag: 'Operations',
      summary: 'This document',
      guard: open,
      forPeople: true,
      envelope: bare,
      response: z.looseObject({ openapi: z.string() }),
      cacheControl: CACHE,
      handle: async () => (await made()) as OpenApiDocument & { openapi: string },
    }),
    defineRoute({
      method: 'get',
      path: '/api/docs',
      operation: 'getDocs',
      tag: 'Operations',
      summary: 'This document as a page',
      guard: open,
      forPeople: true,
      envelope: { ...text(HTML_TYPE, DOCUMENTATION_HEADERS), problem: documentationProblem },
      response: z.string(),
      errors: ['PANEL_NOT_BUILT'],
      cacheControl: CACHE,
      handle: async ({ panelFiles, publicUrl }) => documentationPage(await panelFiles(), publicUrl()),
    }),
  ];
  return own;
}
