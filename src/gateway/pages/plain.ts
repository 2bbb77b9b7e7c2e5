/** A short page of this service: a heading and some lines, without scripts, in the reader's light or dark. */

import type { Page } from '../route/envelopes.ts';
import { type Html, html, raw } from './html.ts';
import { pagePolicy } from './policies.ts';

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2330;--soft:#566072;--line:#d9dee7;--ground:#f6f7f9;--card:#fff;--link:#2747a8}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#a3adbf;--line:#323b4a;--ground:#12161d;--card:#1a2029;--link:#9db2ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:36rem;margin:0 auto;padding:3rem 1rem 4rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 1rem;overflow-wrap:anywhere}
a{color:var(--link)}
a:focus-visible{outline:3px solid var(--link);outline-offset:2px}
code{font:14px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}
.soft{color:var(--soft)}
ul{list-style:none;margin:0;padding:0;border:1px solid var(--line);border-radius:8px;background:var(--card)}
li+li{border-top:1px solid var(--line)}
li a{display:block;padding:.75rem .9rem;color:inherit;text-decoration:none}
li a:hover .name{text-decoration:underline}
.name{display:block;font-weight:600;color:var(--link)}
`;

/** The page with its policy, which lets in its style sheet alone. */
export function plainPage(title: string, body: Html): Page {
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
<title>${title}</title><style>${raw(STYLE)}</style></head><body><main>${body}</main></body></html>
`.text;
  return { page, policy: pagePolicy({ style: STYLE }) };
}
