/** Permission checks of backends (docs/reference/decisions.md#doors). */

import { z } from 'zod';
import { askBulk, askCheck, askEffective } from '../questions/ask.ts';
import {
  appField,
  askedLevel,
  EffectivePermission,
  effectivePermission,
  emailField,
  levelField,
  permissionField,
  permissionsField,
  rawSubject,
  resourceFields,
} from '../questions/fields.ts';
import { successData } from '../route/envelopes.ts';
import { key } from '../route/guards.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

const CheckQuestion = z.strictObject({
  email: emailField,
  app: appField,
  permission: permissionField,
  ...resourceFields,
  accessLevel: levelField,
});

const check = defineRoute({
  method: 'post',
  path: '/api/check',
  tag: 'Checks',
  summary: 'Check one permission of a user',
  description:
    'Answers whether the user holds the permission in the application, globally or for one record. An unknown application is denied, and so is an unknown permission unless the application has `strictCodes` (UNKNOWN_CODE). An error is not an answer: treat the user as denied for this request.',
  guard: key('check'),
  headers: ['usher-min-revision'],
  body: CheckQuestion,
  envelope: successData,
  status: 200,
  response: z.object({ allowed: z.boolean() }),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { email: 'jana@example.com', app: 'crm', permission: 'contacts.export' },
    response: { allowed: true },
  },
  quiet: true,
  handle: ({ engine }, input) => {
    const { body } = input;
    const fields = {
      email: body.email,
      app: body.app,
      permission: body.permission,
      resourceType: body.resourceType ?? '',
      resourceId: body.resourceId ?? '',
      accessLevel: askedLevel(body.accessLevel),
    };
    return askCheck(engine, fields, input);
  },
});

const BulkQuestion = z.strictObject({
  email: emailField,
  app: appField,
  permissions: permissionsField,
  ...resourceFields,
  accessLevel: levelField,
});

const bulkCheck = defineRoute({
  method: 'post',
  path: '/api/check/bulk',
  tag: 'Checks',
  summary: 'Check several permissions of a user',
  description: 'One answer for each distinct code, all true of one revision.',
  guard: key('check'),
  headers: ['usher-min-revision'],
  body: BulkQuestion,
  limit: 'list',
  envelope: successData,
  status: 200,
  response: z.record(z.string(), z.boolean()),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { email: 'jana@example.com', app: 'crm', permissions: ['contacts.export', 'contacts.delete'] },
    response: { 'contacts.export': true, 'contacts.delete': false },
  },
  quiet: true,
  handle: ({ engine }, input) => {
    const { body } = input;
    const { permissions, accessLevel } = body;
    return askBulk(
      engine,
      { ...rawSubject(body.email, body), permissions, accessLevel: askedLevel(accessLevel) },
      input,
    );
  },
});

const EffectiveQuestion = z.strictObject({ email: emailField, app: appField, ...resourceFields });

const effective = defineRoute({
  method: 'post',
  path: '/api/check/effective',
  tag: 'Checks',
  summary: 'List what a user holds in an application',
  description:
    'Every permission that the application defines, by group (those without one last), then code. Empty for an unknown application.',
  guard: key('check'),
  headers: ['usher-min-revision'],
  body: EffectiveQuestion,
  envelope: successData,
  status: 200,
  response: z.array(EffectivePermission),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { email: 'jana@example.com', app: 'crm', resourceType: 'contact', resourceId: '42' },
    response: [
      {
        code: 'contacts.manage',
        type: 'tiered',
        groupName: 'Contacts',
        global: false,
        accessLevel: 'view',
        granted: true,
        source: 'role',
      },
    ],
  },
  quiet: true,
  handle: ({ engine }, input) =>
    askEffective(engine, rawSubject(input.body.email, input.body), effectivePermission, input),
});

const clearCache = defineRoute({
  method: 'post',
  path: '/api/check/cache/clear',
  tag: 'Checks',
  summary: 'Forget every cached decision and fact',
  description: 'Of this instance, or of all. Never needed for correctness but after rows were changed by hand.',
  guard: key('check'),
  query: z.strictObject({
    everywhere: z.enum(['true', 'false']).optional().meta({ description: '`true`: every instance, within a second.' }),
  }),
  envelope: successData,
  status: 200,
  response: z.object({
    cleared: z.literal(true),
    message: z.string(),
    entries: z.int().meta({ description: 'How many cached decisions of this instance could still have answered.' }),
  }),
  example: { response: { cleared: true, message: 'The cache of this instance is empty.', entries: 128 } },
  handle: async ({ engine, clearEverywhere }, { query }) => {
    const entries = engine.clear();
    if (query.everywhere !== 'true') {
      return { cleared: true, message: 'The cache of this instance is empty.', entries } as const;
    }
    const revision = await clearEverywhere();
    const message = 'The cache of every instance is empty, of others within a second.';
    return answer({ cleared: true, message, entries } as const, { revision });
  },
});

export const checkRoutes: readonly Route[] = [check, bulkCheck, effective, clearCache];
