/** The development mailbox as pages (contract 9). Not mounted in production. */

import { z } from 'zod';
import { isLoopbackHost } from '../../address-kind.ts';
import { escapeHtml } from '../../delivery/layout.ts';
import type { KeptMail } from '../../delivery/mailbox.ts';
import { UsherError } from '../../errors.ts';
import { HTML_TYPE, JSON_TYPE, successData, type ValueEnvelope } from '../envelopes.ts';
import { timestamp } from '../fields.ts';
import { type Guard, open } from '../guards.ts';
import { defineRoute, type Route } from '../route.ts';

const STYLE = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.4rem .75rem .4rem 0;border-bottom:1px solid #8884;overflow-wrap:anywhere}th{white-space:nowrap}
iframe{width:100%;height:42rem;border:1px solid #8886;background:#fff}pre{white-space:pre-wrap;border:1px solid #8886;padding:1rem}`;

/** A mail brings its own inline styles and pictures; nothing else of it may act, here or in its sandboxed frame. */
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src http: https: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const Mail = z.strictObject({
  id: z.string(),
  at: timestamp,
  from: z.strictObject({ address: z.string(), name: z.string() }),
  to: z.string(),
  subject: z.string(),
  html: z.string(),
  text: z.string(),
  messageId: z.string(),
  headers: z.record(z.string(), z.string()),
});

/** A page for people; JSON in `successData`, where `Accept` prefers it. */
function pageOr<T>(name: string, page: (payload: T) => string): ValueEnvelope {
  return {
    kind: 'value',
    name,
    media: [HTML_TYPE, JSON_TYPE],
    headers: { 'content-security-policy': POLICY },
    encode: (payload, media) => (media === HTML_TYPE ? page(payload as T) : successData.encode(payload, media)),
    describe: (payload, media) => (media === HTML_TYPE ? { type: 'string' } : successData.describe(payload, media)),
  };
}

/** Anybody who reaches this machine by its own name: a page that made its own host name resolve to here reads no mail. */
const developer: Guard<null> = {
  ...open,
  name: 'developer',
  description: 'Needs no credentials; answers to `localhost` and loopback addresses only.',
  errors: ['FORBIDDEN', 'BROWSER_NOT_ALLOWED'],
  // It holds reset codes: no page of another origin reads it, also not of one that may read answers in development.
  browsers: false,
  identify: (_services, request) => {
    const host = URL.parse(`http://${request.header('host') ?? ''}`)?.hostname ?? '';
    if (isLoopbackHost(host)) return null;
    throw new UsherError('FORBIDDEN', 'The development mailbox is shown to localhost only.');
  },
};

const listMail = defineRoute({
  method: 'get',
  path: '/dev/mail',
  tag: 'Operations',
  summary: 'The development mailbox: mail that no brand can send',
  description: 'Outside production only.',
  guard: developer,
  envelope: pageOr('mailbox', listPage),
  status: 200,
  response: z.array(Mail),
  handle: async ({ mailbox }) => (await mailbox?.list()) ?? [],
});

const readMail = defineRoute({
  method: 'get',
  path: '/dev/mail/:id',
  tag: 'Operations',
  summary: 'A mail of the development mailbox',
  description: 'Outside production only.',
  guard: developer,
  params: z.strictObject({ id: z.string().regex(/^[0-9a-f-]{1,64}$/, 'must be the id of a mail') }),
  envelope: pageOr('mail', mailPage),
  status: 200,
  response: Mail,
  errors: ['NOT_FOUND'],
  handle: async ({ mailbox }, { params }) => {
    const mail = (await mailbox?.get(params.id)) ?? null;
    if (mail === null) throw new UsherError('NOT_FOUND', 'There is no such mail in the mailbox.');
    return mail;
  },
});

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>${body}</body></html>`;
}

function listPage(mails: readonly KeptMail[]): string {
  const rows = mails.map(
    ({ id, at, from, to, subject }) =>
      `<tr><td>${escapeHtml(at)}</td><td>${escapeHtml(to)}</td><td><a href="/dev/mail/${escapeHtml(id)}">${escapeHtml(subject === '' ? '(no subject)' : subject)}</a></td><td>${escapeHtml(from.name)}</td></tr>`,
  );
  const table = `<table><thead><tr><th>At</th><th>To</th><th>Subject</th><th>From</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
  const none = '<p>Nothing yet. Mail of brands without SMTP comes here.</p>';
  return page('Mailbox', `<h1>Development mailbox</h1>${mails.length === 0 ? none : table}`);
}

function mailPage(mail: KeptMail): string {
  const headers: [string, string][] = [
    ['From', `${mail.from.name} <${mail.from.address}>`],
    ['To', mail.to],
    ['At', mail.at],
    ['Message-ID', mail.messageId],
    ...Object.entries(mail.headers),
  ];
  const rows = headers
    .map(([name, value]) => `<tr><th>${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`)
    .join('');
  const frame = `<iframe sandbox="" title="The mail as HTML" srcdoc="${escapeHtml(mail.html)}"></iframe>`;
  const body = `<p><a href="/dev/mail">All mail</a></p><h1>${escapeHtml(mail.subject)}</h1><table>${rows}</table><h2>HTML</h2>${frame}<h2>Text</h2><pre>${escapeHtml(mail.text)}</pre>`;
  return page(mail.subject, body);
}

export function devMailRoutes(production: boolean): readonly Route[] {
  return production ? [] : [listMail, readMail];
}
