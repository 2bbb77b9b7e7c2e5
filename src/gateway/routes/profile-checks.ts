/**
 * Permission checks of signed-in users about themselves (docs/reference/decisions.md#doors): the user is taken
 * from the token only, so `email` is an unknown field. An inactive user gets an answer: everything is denied.
 */

import { z } from 'zod';
import { askBatch, askBulk, askCheck, askEffective } from '../questions/ask.ts';
import {
  appField,
  checksField,
  levelField,
  MyCheckResult,
  MyEffectivePermission,
  myCheckResult,
  myEffectivePermission,
  permissionField,
  permissionsField,
  rawBulk,
  rawCheck,
  rawSubject,
  resourceFields,
} from '../questions/fields.ts';
import { bare } from '../route/envelopes.ts';
import { signedInEvenInactive } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';

/** What all questions have in common. */
const question = {
  method: 'post',
  tag: 'Checks',
  guard: signedInEvenInactive,
  headers: ['usher-min-revision'],
  envelope: bare,
  quiet: true,
} as const;

const MyCheckQuestion = record('MyCheckQuestion', {
  app: appField,
  permission: permissionField,
  ...resourceFields,
  accessLevel: levelField,
});

const myCheck = defineRoute({
  ...question,
  path: '/api/profile/me/check',
  operation: 'checkMine',
  summary: 'Check one of my permissions',
  body: MyCheckQuestion,
  response: z.object({ allowed: z.boolean() }),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: { body: { app: 'atelier', permission: 'project.access' }, response: { allowed: true } },
  handle: ({ engine }, input) => askCheck(engine, rawCheck({ ...input.body, email: input.caller.email }), input),
});

const myBulkCheck = defineRoute({
  ...question,
  path: '/api/profile/me/check/bulk',
  operation: 'bulkCheckMine',
  summary: 'Check several of my permissions',
  description: 'One answer for each distinct code, all at one revision.',
  body: z.strictObject({ app: appField, permissions: permissionsField, ...resourceFields, accessLevel: levelField }),
  limit: 'list',
  response: z.record(z.string(), z.boolean()),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { app: 'atelier', permissions: ['project.access', 'invoice.access'] },
    response: { 'project.access': true, 'invoice.access': false },
  },
  handle: ({ engine }, input) => askBulk(engine, rawBulk({ ...input.body, email: input.caller.email }), input),
});

const myEffective = defineRoute({
  ...question,
  path: '/api/profile/me/check/effective',
  operation: 'listMyEffective',
  summary: 'List what I hold in an application',
  description: 'Every permission that the application defines, by group (those without one last), then code.',
  body: z.strictObject({ app: appField, ...resourceFields }),
  response: z.array(MyEffectivePermission),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { app: 'atelier' },
    response: [
      {
        code: 'report.export',
        type: 'binary',
        groupName: 'Finance',
        global: true,
        accessLevel: null,
        granted: false,
        source: 'none',
      },
    ],
  },
  handle: ({ engine }, input) =>
    askEffective(engine, rawSubject({ ...input.body, email: input.caller.email }), myEffectivePermission, input),
});

const myBatchCheck = defineRoute({
  ...question,
  path: '/api/profile/me/check/batch',
  operation: 'batchCheckMine',
  summary: 'Check my permissions for many records',
  description:
    'Answers each check in order, all at one revision. A malformed check refuses the whole call and is named (`checks.3.resourceId`).',
  body: z.strictObject({ checks: checksField(MyCheckQuestion) }),
  limit: 'list',
  response: z.object({ results: z.array(MyCheckResult) }),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { checks: [{ app: 'atelier', permission: 'project.access', resourceType: 'project', resourceId: '7' }] },
    response: { results: [{ allowed: true, accessLevel: 'edit', source: 'role' }] },
  },
  handle: ({ engine }, input) => {
    const { body, caller } = input;
    const checks = body.checks.map((check) => rawCheck({ ...check, email: caller.email }));
    return askBatch(engine, checks, myCheckResult, input);
  },
});

export const profileCheckRoutes: readonly Route[] = [myCheck, myBulkCheck, myEffective, myBatchCheck];
