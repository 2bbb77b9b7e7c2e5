/**
 * The development mailbox: mail of brands without SMTP, for developers. Not mounted in production. A browser that goes to one of
 * these paths is led to the panel (panel/router.ts).
 */

import { z } from 'zod';
import { UsherError } from '../../base/errors.ts';
import type { KeptMail } from '../../delivery/mailbox.ts';
import { isLocalHost } from '../middleware/local-host.ts';
import { search, timestamp } from '../route/fields.ts';
import { type Guard, open } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';

const Mail = record('DevelopmentMail', {
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

/** Callers that use a loopback host name: a page whose own host name resolves to this machine reads no mail. */
const developer: Guard<null> = {
  ...open,
  name: 'developer',
  description: 'Needs no credentials; answers to `localhost` and loopback addresses only.',
  errors: ['FORBIDDEN', 'BROWSER_NOT_ALLOWED'],
  // It contains reset codes: no page of another origin may read it, even an origin that CORS allows.
  browsers: false,
  identify: (_services, request) => {
    if (isLocalHost(request.header('host'))) return null;
    throw new UsherError('FORBIDDEN', 'The development mailbox is open to localhost only.');
  },
};

const listMail = defineRoute({
  method: 'get',
  path: '/dev/mail',
  operation: 'listDevelopmentMail',
  tag: 'Operations',
  summary: 'The development mailbox: mail of brands without SMTP',
  description: 'Outside production only. A browser is redirected to the mailbox of the panel.',
  guard: developer,
  holdsSecret: true,
  query: z.strictObject({ q: search.meta({ description: 'Text in the recipient or the subject.' }) }),
  response: z.array(Mail),
  dear: false,
  handle: async ({ mailbox }, { query: { q } }) => {
    const all = (await mailbox?.list()) ?? [];
    return q === null ? all : all.filter((mail) => isFound(mail, q));
  },
});

const readMail = defineRoute({
  method: 'get',
  path: '/dev/mail/:id',
  operation: 'getDevelopmentMail',
  tag: 'Operations',
  summary: 'A mail in the development mailbox',
  description: 'Outside production only. A browser is redirected to the mailbox of the panel.',
  guard: developer,
  holdsSecret: true,
  params: z.strictObject({ id: z.string().regex(/^[0-9a-f-]{1,64}$/, 'must be the id of a mail') }),
  response: Mail,
  errors: ['NOT_FOUND'],
  handle: async ({ mailbox }, { params }) => {
    const mail = (await mailbox?.get(params.id)) ?? null;
    if (mail === null) throw new UsherError('NOT_FOUND', 'The mail is not in the mailbox.');
    return mail;
  },
});

function isFound({ to, subject }: KeptMail, query: string): boolean {
  return [to, subject].some((text) => text.toLowerCase().includes(query.toLowerCase()));
}

export function devMailRoutes(production: boolean): readonly Route[] {
  return production ? [] : [listMail, readMail];
}
