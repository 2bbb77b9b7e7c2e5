/** Unsubscribing from a type's mail by the link in it, with no login (contract 6; RFC 8058). */

import { z } from 'zod';
import { escapeHtml } from '../../delivery/layout.ts';
import type { BodyFormat } from '../bodies.ts';
import { HTML_TYPE, JSON_TYPE, successData, text, type ValueEnvelope } from '../envelopes.ts';
import { open } from '../guards.ts';
import { defineRoute, type Route } from '../route.ts';

const PATH = '/api/notifications/unsubscribe';
const POLICY = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
};
const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem}';

const query = z.strictObject({
  token: z.string().max(200).meta({ description: 'From the link in the mail.' }),
});

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>${title}</title><style>${STYLE}</style></head><body><h1>${title}</h1>${body}</body></html>
`;
}

const showButton = defineRoute({
  method: 'get',
  path: PATH,
  tag: 'Inbox',
  summary: 'The page with the button that unsubscribes',
  description: 'Changes nothing: scanners of mail follow links.',
  guard: open,
  query,
  envelope: text(HTML_TYPE, POLICY),
  status: 200,
  response: z.string(),
  errors: ['NOT_FOUND'],
  handle: async ({ unsubscriptions }, { query: { token } }) => {
    const { appName, typeName } = await unsubscriptions.describe(token);
    const what = `<p>No more e-mails of the kind “${escapeHtml(typeName)}” from ${escapeHtml(appName)}?</p>`;
    // Without an action the form goes to this very address, token included.
    return page('Unsubscribe', `${what}<form method="post"><button>Unsubscribe</button></form>`);
  },
});

/** JSON for programs, a page for browsers. */
const doneEnvelope: ValueEnvelope = {
  kind: 'value',
  name: 'unsubscribed',
  media: [JSON_TYPE, HTML_TYPE],
  headers: POLICY,
  encode: (data, media) =>
    media === HTML_TYPE
      ? page(
          'Unsubscribed',
          '<p>You get no more e-mails of this kind. It can be switched on again in your settings.</p>',
        )
      : successData.encode(data, media),
  describe: (payload, media) => (media === HTML_TYPE ? { type: 'string' } : successData.describe(payload, media)),
};

/** What mail programs (`List-Unsubscribe=One-Click`), forms and others send along; the token says everything. */
const anything: BodyFormat<undefined> = {
  media: ['application/x-www-form-urlencoded', 'multipart/form-data', 'application/json', 'text/plain'],
  maxBytes: 4096,
  parse: () => undefined,
  optional: true,
  describe: () => ({}),
};

const unsubscribe = defineRoute({
  method: 'post',
  path: PATH,
  tag: 'Inbox',
  summary: "Switch off a type's mail",
  description: 'For the user and the type that the token names. Again is no error.',
  guard: open,
  query,
  body: anything,
  envelope: doneEnvelope,
  status: 200,
  response: z.strictObject({ unsubscribed: z.boolean() }),
  errors: ['NOT_FOUND', 'PREFERENCE_LOCKED'],
  handle: async ({ unsubscriptions }, { query: { token } }) => {
    await unsubscriptions.unsubscribe(token);
    return { unsubscribed: true };
  },
});

export const unsubscribeRoutes: readonly Route[] = [showButton, unsubscribe];
