/** The HTTP e-mail provider that the identity provider calls (docs/reference/identity-provider.md#e-mails). */

import { z } from 'zod';
import { parseJson, rawBytes } from '../route/bodies.ts';
import { defineRoute, type Route } from '../route/route.ts';
import { signed } from '../route/signed.ts';

export const AuthMailAnswer = z.strictObject({
  status: z.enum(['sent', 'duplicate', 'refused']),
  templateSource: z.enum(['panel', 'idp']).optional().meta({ description: 'Absent where nothing was sent.' }),
  reason: z.string().optional().meta({ description: 'Of `refused`: the code of the error.' }),
});

const sendEmail = defineRoute({
  method: 'post',
  path: '/api/idp/notifications/email',
  operation: 'sendProviderEmail',
  tag: 'Identity provider',
  summary: 'Send an e-mail of the identity provider',
  description: [
    'The brand that carries `args.orgID` sends it, in the words of the template that `contextInfo.eventType` stands for, or in the',
    "provider's own. A body that was sent in the last 30 days gets `duplicate` and is not sent again. Any answer other than 2xx makes",
    'the provider retry, and others wait behind it: an error that the same body would meet again is answered once, and then `refused`.',
  ].join(' '),
  guard: signed('signature', ({ authMails }) => authMails),
  body: rawBytes(['application/json'], 'list'),
  response: AuthMailAnswer,
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
    return await authMails.deliver(verified, parseJson, requestId);
  },
});

export const providerMailRoutes: readonly Route[] = [sendEmail];
