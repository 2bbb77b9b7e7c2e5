/** The page of the API documentation: Swagger UI from the files of the panel's build (docs/reference/service.md#documents). */

import type { PanelFiles } from '../panel/files.ts';
import { PANEL_HEADERS } from '../panel/headers.ts';
import type { Page, Problem } from '../route/envelopes.ts';
import { html } from './html.ts';
import { notBuilt } from './not-built.ts';
import { plainPage } from './plain.ts';

/** The scripts and style sheets of the page, by path below `/panel/`. */
const FILES = {
  styles: ['docs/swagger-ui.css', 'docs/docs.css'],
  scripts: ['docs/swagger-ui-bundle.js', 'docs/start.js'],
} as const;

/**
 * Files of this origin only. Swagger UI sets styles by script, which needs no permission, and its pictures are in its style
 * sheet. It would make HTML from descriptions: start.js replaces that part, so that Trusted Types can be required. The one
 * policy that may be created is of the sanitizer in its bundle.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types dompurify',
].join('; ');

export const DOCUMENTATION_HEADERS = { ...PANEL_HEADERS, 'content-security-policy': POLICY };

/** Throws PANEL_NOT_BUILT where the files are missing. `home` is the publicUrl, at whose host the page has to be. */
export function documentationPage(files: PanelFiles | null, home: string): string {
  const paths = [...FILES.styles, ...FILES.scripts];
  if (files === null || paths.some((path) => !files.has(path))) throw notBuilt().error;
  const styles = FILES.styles.map((path) => html`<link rel="stylesheet" href="/panel/${path}">`);
  const scripts = FILES.scripts.map((path) => html`<script src="/panel/${path}" defer></script>`);
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
<title>Usher API</title><link rel="icon" href="data:,">${styles}${scripts}</head>
<body data-home="${home}"><header><p>For programs: <a href="/api/openapi.json">/api/openapi.json</a> (OpenAPI 3.1). Calls from this page are real ones, with the token or key under “Authorize”.</p>
<form id="sign-in" hidden><label for="code">Code of this start</label><input id="code" autocomplete="off" spellcheck="false" placeholder="from the link that the service printed"><button>Show people</button><div id="people"></div><p id="said" role="status"></p></form></header>
<div id="swagger-ui"><noscript><p>This page needs scripts.</p></noscript></div>
</body></html>
`.text;
}

export function documentationProblem({ error }: Problem): Page {
  if (error.reason === 'PANEL_NOT_BUILT') return notBuilt();
  return plainPage('Usher API', html`<h1>The documentation cannot be shown</h1><p>${error.message}</p>`);
}
