/** The development mailbox as pages: a list that refreshes itself, and a mail in a sandboxed frame. */

import type { KeptMail } from '../../delivery/mailbox.ts';
import type { Problem } from '../route/envelopes.ts';
import { type Html, html, raw } from './html.ts';
import { MAILBOX_SCRIPT } from './mailbox-script.ts';
import { pagePolicy } from './policies.ts';

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2330;--soft:#566072;--line:#d9dee7;--ground:#f6f7f9;--card:#fff;--link:#2747a8}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#a3adbf;--line:#323b4a;--ground:#12161d;--card:#1a2029;--link:#9db2ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 1rem;overflow-wrap:anywhere}
h2{font-size:1rem;margin:1.75rem 0 .5rem}
a{color:var(--link)}
a:focus-visible,button:focus-visible,input:focus-visible,iframe:focus-visible,pre:focus-visible,summary:focus-visible{outline:3px solid var(--link);outline-offset:2px}
form{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center}
label{font-weight:600}
input,button{font:inherit;color:inherit;background:var(--card);border:1px solid var(--soft);border-radius:6px;padding:.45rem .7rem;min-height:2.75rem}
input{flex:1 1 12rem;min-width:0}
::placeholder{color:var(--soft);opacity:1}
button{cursor:pointer;font-weight:600}
.soft{color:var(--soft)}
ul{list-style:none;margin:0;padding:0;border:1px solid var(--line);border-radius:8px;background:var(--card)}
ul:empty{display:none}
li+li{border-top:1px solid var(--line)}
li:first-child a{border-radius:8px 8px 0 0}
li:last-child a{border-radius:0 0 8px 8px}
li a{display:grid;grid-template-columns:1fr auto;gap:0 1rem;padding:.65rem .9rem;color:inherit;text-decoration:none}
li a:hover .subject{text-decoration:underline}
.subject{font-weight:600;color:var(--link);overflow-wrap:anywhere}
.who{grid-row:2;overflow-wrap:anywhere;color:var(--soft);font-size:.9rem}
time{color:var(--soft);font-size:.9rem;white-space:nowrap}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1rem;margin:0}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere;min-width:0}
dd time{color:inherit;font-size:inherit;white-space:normal}
summary{cursor:pointer;margin:.75rem 0 .5rem}
iframe{display:block;width:100%;height:min(42rem,75vh);border:1px solid var(--line);border-radius:8px;background:#fff}
pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid var(--line);border-radius:8px;background:var(--card);padding:1rem;margin:0;font:14px/1.5 ui-monospace,monospace}
@media(max-width:34rem){label{flex-basis:100%}li a{grid-template-columns:1fr}.who,time{grid-row:auto}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}
`;

/** Keeps windows that a mail opens from reaching back to the mailbox, regardless of `rel` in its links. */
const APART = { 'cross-origin-opener-policy': 'same-origin' };

export const LIST_HEADERS = {
  ...APART,
  'content-security-policy': pagePolicy({ style: STYLE, script: MAILBOX_SCRIPT, forms: true }),
};
/** A mail brings its own inline styles and pictures. The frame inherits the policy: no script of a mail ever runs. */
export const MAIL_HEADERS = {
  ...APART,
  'content-security-policy': pagePolicy({ style: null, images: 'http: https: data:' }),
};

/** Mails that match the search, newest first. */
export interface MailList {
  readonly mails: readonly KeptMail[];
  /** The number of mails without the search. */
  readonly total: number;
  /** The search text; null for all mails. */
  readonly query: string | null;
  /** Milliseconds of the epoch. */
  readonly now: number;
}

export function listPage({ mails, total, query, now }: MailList): string {
  const rows = mails.map(
    ({ id, at, from, to, subject }) =>
      html`<li id="mail-${id}"><a href="/dev/mail/${id}"><span class="subject" dir="auto">${subjectOf(subject)}</span> <span class="who">to ${to} from <bdi>${from.name}</bdi></span> ${timeOf(at, now)}</a></li>`,
  );
  const all = query === null ? html`` : html` <a href="/dev/mail">Show all</a>`;
  return page(
    'Development mailbox',
    html`<h1>Development mailbox</h1>
<form role="search" method="get"><label for="q">Search</label><input id="q" name="q" type="search" value="${query ?? ''}" maxlength="200" autocomplete="off" placeholder="Recipient or subject"><button>Search</button></form>
<p class="soft"><span id="count" role="status">${countOf(mails.length, total, query)}</span>${all}</p>
<ul id="mails" aria-label="Mails">${rows}</ul>
<p class="soft" id="live"></p>
<script>${raw(MAILBOX_SCRIPT)}</script>`,
  );
}

export function mailPage(mail: KeptMail, now: number): string {
  const headers: [string, Html][] = [
    ['From', html`${mail.from.name} &lt;${mail.from.address}&gt;`],
    ['To', html`${mail.to}`],
    ['At', html`${timeOf(mail.at, now)} (${exactly(mail.at)})`],
  ];
  const more: [string, Html][] = [
    ['Message-ID', html`${mail.messageId}`],
    ...Object.entries(mail.headers).map(([name, value]): [string, Html] => [name, html`${value}`]),
  ];
  const list = (rows: [string, Html][]): Html =>
    html`<dl>${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
  return page(
    subjectOf(mail.subject),
    html`<p><a href="/dev/mail">All mail</a></p><h1 dir="auto">${subjectOf(mail.subject)}</h1>${list(headers)}<details><summary>More headers</summary>${list(more)}</details>
<h2 id="as-html">HTML</h2><iframe sandbox="allow-popups allow-popups-to-escape-sandbox" aria-labelledby="as-html" srcdoc="${inNewTabs(mail.html)}"></iframe>
<h2 id="as-text">Text</h2><pre dir="auto" tabindex="0" role="region" aria-labelledby="as-text">${mail.text}</pre>`,
  );
}

/** An error page, for example for a deleted mail. */
export function mailboxProblem({ error }: Problem): { page: string; policy: string } {
  const body = html`<h1>${error.httpStatus === 404 ? 'This mail is no longer here' : 'The mailbox cannot be shown'}</h1><p>${error.message}</p><p><a href="/dev/mail">All mail</a></p>`;
  return { page: page('Development mailbox', body), policy: pagePolicy({ style: STYLE }) };
}

function page(title: string, body: Html): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
<title>${title}</title><style>${raw(STYLE)}</style></head><body><main>${body}</main></body></html>
`.text;
}

/** The mail, with its links opening new tabs. A `base` element without `href` is not subject to `base-uri`. */
function inNewTabs(mail: string): string {
  const head = '<head>';
  const at = mail.indexOf(head);
  // Every mail of this service has a head. Without one the element goes first: a doctype after it would be ignored.
  const behind = at < 0 ? 0 : at + head.length;
  return `${mail.slice(0, behind)}<base target="_blank">${mail.slice(behind)}`;
}

function subjectOf(subject: string): string {
  return subject === '' ? '(no subject)' : subject;
}

function countOf(shown: number, total: number, query: string | null): string {
  const mails = (count: number): string => `${count} ${count === 1 ? 'mail' : 'mails'}`;
  if (query !== null) return `${shown} of ${mails(total)} with “${query}” in recipient or subject.`;
  return total === 0 ? 'No mail yet. Mail of brands without SMTP comes here.' : `${mails(total)}.`;
}

function timeOf(at: string, now: number): Html {
  return html`<time datetime="${at}" title="${exactly(at)}">${relative(Date.parse(at), now)}</time>`;
}

/** `2026-03-01 12:00:00 UTC` */
function exactly(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}

const UNITS = [
  { unit: 'day', ms: 86_400_000 },
  { unit: 'hour', ms: 3_600_000 },
  { unit: 'minute', ms: 60_000 },
] as const;

/** Relative time in words: "just now", "5 minutes ago", "yesterday". */
export function relative(at: number, now: number): string {
  const passed = now - at;
  const found = UNITS.find(({ ms }) => passed >= ms);
  if (found === undefined) return 'just now';
  const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
  return words.format(-Math.floor(passed / found.ms), found.unit);
}
