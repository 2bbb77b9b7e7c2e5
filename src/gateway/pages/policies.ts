/** Content security policies of pages: nothing loads, runs or is sent but what a page names here. */

import { createHash } from 'node:crypto';

/** What a page needs beside itself. */
export interface PageNeeds {
  /** The one style sheet in the page; `null` lets in inline styles, for a page that shows a mail. */
  readonly style: string | null;
  /** The one script in the page. */
  readonly script?: string;
  /** Sources of pictures, such as `https:`. */
  readonly images?: string;
  /** Whether its forms go to this service. */
  readonly forms?: boolean;
}

/** The policy that lets exactly these through. Styles and scripts are known by their hash. */
export function pagePolicy({ style, script, images, forms = false }: PageNeeds): string {
  return [
    "default-src 'none'",
    `style-src ${style === null ? "'unsafe-inline'" : hashOf(style)}`,
    // A script may ask this service for the page anew.
    ...(script === undefined ? [] : [`script-src ${hashOf(script)}`, "connect-src 'self'"]),
    ...(images === undefined || !SOURCES.test(images) ? [] : [`img-src ${images}`]),
    `form-action ${forms ? "'self'" : "'none'"}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** A host may hold ";" and ",", which end a directive and a policy: such a source is left out, and its pictures are blocked. */
const SOURCES = /^[^;,]+$/;

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
