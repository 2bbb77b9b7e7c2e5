/** The HTTP e-mail provider that the identity provider calls (docs/reference/identity-provider.md#e-mails). */

import { z } from 'zod';
import { parseJson, rawBytes } from '../route/bodies.ts';
import type { Guard } from '../route/guards.ts';
import { defineRoute, type Route } from '../route/route.ts';

/**
 * A signature over the body. Its form and time, and the presence of a key, are checked before a byte of the
 * body is read; the signature itself, once the body is there.
 */
const signed: Guard<string> = {
  kind: 'signature',
  name: 'signature',
  description:
    'Needs the header `IDP-Signature: t=<unix time>,v1=<hex>`: HMAC-SHA256 over the exact bytes of the body. Not for browsers.',
  scheme: null,
  errors: ['SIGNATURE_INVALID', 'SIGNATURE_EXPIRED', 'BROWSER_NOT_ALLOWED'],
  browsers: false,
  identify: async ({ authMails }, request) => {
    const header = request.header(authMails.signatureHeader);
    await authMails.examine(header);
    return header ?? '';
  },
  actor: () => null,
};

const sendEmail = defineRoute({
  method: 'post',
  path: '/api/idp/notifications/email',
  tag: 'Identity provider',
  summary: 'Send an e-mail of the identity provider',
  description: [
    'The brand that carries `args.orgID` sends it, in the words of the template that `contextInfo.eventType` stands for, or in the',
    "provider's own. A body that was sent in the last 30 days gets `duplicate` and is not sent again. Any answer other than 2xx makes",
    'the provider retry.',
  ].join(' '),
  guard: signed,
  body: rawBytes(['application/json'], 'list'),
  response: z.strictObject({ status: z.enum(['sent', 'duplicate']), templateSource: z.enum(['panel', 'idp']) }),
  errors: ['VALIDATION_FAILED', 'UNKNOWN_ORGANIZATION', 'SMTP_FAILED', 'UNAVAILABLE'],
  // The provider has stopped waiting by then; its retries in the meantime wait for the same sending.
  deadlineMs: 35_000,
  example: {
    body: {
      contextInfo: { eventType: 'user.human.password.code.added', recipientEmailAddress: 'ann@example.com' },
      templateData: {
        title: 'Reset password',
        subject: 'Reset password',
        greeting: 'Hello Ann,',
        text: 'You asked for a new password.',
        url: 'https://idp.example.com/ui/password?userID=17&code=4711&orgID=42',
        buttonText: 'Reset password',
      },
      args: { orgID: '42', code: '4711', firstName: 'Ann' },
    },
  },
  handle: async ({ authMails }, { caller, body, requestId }) => {
    const verified = await authMails.verify(caller, body);
    return await authMails.deliver(verified, parseJson(body), requestId);
  },
});

export const providerMailRoutes: readonly Route[] = [sendEmail];
