/** E-mails of the identity provider that wait until they can be sent (docs/reference/identity-provider.md#refused-e-mails). */

import { z } from 'zod';
import { parseJson } from '../route/bodies.ts';
import { id, idParam, timestamp } from '../route/fields.ts';
import { superAdmin } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';
import { AuthMailAnswer } from './provider-mail.ts';

const RefusedMail = record('RefusedMail', {
  id,
  at: timestamp.meta({ description: 'When the provider delivered it first.' }),
  lastAt: timestamp.meta({ description: 'When it delivered it last.' }),
  deliveries: z.int().positive(),
  reason: z.string().meta({ description: 'The code of the error, such as `UNKNOWN_ORGANIZATION`.' }),
  message: z.string(),
  eventType: z.string().nullable(),
  orgId: z.string().nullable(),
  email: z.string().nullable().meta({ description: 'The recipient; null for a mail that is unreadable.' }),
  sentAt: timestamp.nullable().meta({ description: 'When it went out after all; null while it waits.' }),
});

const listRefused = defineRoute({
  method: 'get',
  path: '/api/idp/admin/mails',
  operation: 'listRefusedMails',
  tag: 'Identity provider',
  summary: 'The e-mails of the provider that could not be sent',
  description:
    'The newest first, at most 200; kept 30 days. What they say is kept sealed until they are sent, and shown nowhere.',
  guard: superAdmin,
  response: z.strictObject({ mails: z.array(RefusedMail) }),
  handle: async ({ refusedMails }) => ({ mails: await refusedMails.list() }),
});

const sendRefused = defineRoute({
  method: 'post',
  path: '/api/idp/admin/mails/:id/send',
  operation: 'sendRefusedMail',
  tag: 'Identity provider',
  summary: 'Send an e-mail that was refused',
  description:
    'Once, by the brand that carries its organization now, in the words of today. A code or link in it may have expired meanwhile.',
  guard: superAdmin,
  refusal: 'auth_email.sent.refused',
  params: z.strictObject({ id: idParam }),
  response: AuthMailAnswer,
  errors: ['NOT_FOUND', 'CONFLICT', 'UNKNOWN_ORGANIZATION', 'VALIDATION_FAILED', 'SMTP_FAILED', 'UNAVAILABLE'],
  deadlineMs: 35_000,
  handle: ({ authMails }, input) => authMails.sendRefused(input.params.id, parseJson, input),
});

export const refusedMailRoutes: readonly Route[] = [listRefused, sendRefused];
