/** Content security policies of pages: only the sources that a page names here may load, run or receive forms. */

import { createHash } from 'node:crypto';

/** The sources that a page needs. */
export interface PageNeeds {
  /** The one style sheet in the page. */
  readonly style: string;
  /** Sources of pictures, such as `https:`. */
  readonly images?: string;
  /** Whether its forms go to this service. */
  readonly forms?: boolean;
}

/** The policy that allows exactly these. Styles are allowed by their hash. */
export function pagePolicy({ style, images, forms = false }: PageNeeds): string {
  return [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    ...(images === undefined || !SOURCES.test(images) ? [] : [`img-src ${images}`]),
    `form-action ${forms ? "'self'" : "'none'"}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** A host may contain ";" and ",", which end a directive and a policy: such a source is left out, and its pictures are blocked. */
const SOURCES = /^[^;,]+$/;

/** The source expression that allows exactly this inline text. */
export function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
