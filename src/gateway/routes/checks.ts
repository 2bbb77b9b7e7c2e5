/** Permission checks of backends (docs/reference/decisions.md#doors). */

import { z } from 'zod';
import { askBatch, askBulk, askCheck, askEffective, askExplain } from '../questions/ask.ts';
import {
  appField,
  CheckResult,
  checkResult,
  checksField,
  EFFECTIVE_EXAMPLE,
  EffectivePermission,
  EXPLANATION_EXAMPLE,
  Explanation,
  effectivePermission,
  emailField,
  explanation,
  levelField,
  permissionField,
  permissionsField,
  rawBulk,
  rawCheck,
  rawSubject,
  resourceFields,
} from '../questions/fields.ts';
import { flagParam } from '../route/fields.ts';
import { key } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

/** What all questions have in common. */
const question = {
  method: 'post',
  tag: 'Checks',
  guard: key('check'),
  headers: ['usher-min-revision'],
  quiet: true,
} as const;

const CheckQuestion = record('CheckQuestion', {
  email: emailField,
  app: appField,
  permission: permissionField,
  ...resourceFields,
  accessLevel: levelField,
});

const check = defineRoute({
  ...question,
  path: '/api/check',
  operation: 'check',
  summary: 'Check one permission of a user',
  description:
    'Answers whether the user holds the permission in the application, globally or for one record. An unknown application is denied, and so is an unknown permission unless the application has `strictCodes` (UNKNOWN_CODE). An error is not an answer: treat the user as denied for this request.',
  body: CheckQuestion,
  concerns: ({ body }) => [body.app],
  response: z.object({ allowed: z.boolean() }),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: {
      email: 'ben@example.com',
      app: 'atelier',
      permission: 'project.archive',
      resourceType: 'project',
      resourceId: '1042',
    },
    response: { allowed: true },
  },
  handle: ({ engine }, input) => askCheck(engine, rawCheck(input.body), input),
});

const BulkQuestion = record('BulkQuestion', {
  email: emailField,
  app: appField,
  permissions: permissionsField,
  ...resourceFields,
  accessLevel: levelField,
});

const bulkCheck = defineRoute({
  ...question,
  path: '/api/check/bulk',
  operation: 'bulkCheck',
  summary: 'Check several permissions of a user',
  description: 'One answer for each distinct code, all at one revision.',
  body: BulkQuestion,
  concerns: ({ body }) => [body.app],
  limit: 'list',
  response: z.record(z.string(), z.boolean()),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { email: 'ben@example.com', app: 'atelier', permissions: ['project.access', 'invoice.access'] },
    response: { 'project.access': true, 'invoice.access': false },
  },
  handle: ({ engine }, input) => askBulk(engine, rawBulk(input.body), input),
});

const EffectiveQuestion = record('EffectiveQuestion', { email: emailField, app: appField, ...resourceFields });

const effective = defineRoute({
  ...question,
  path: '/api/check/effective',
  operation: 'listEffective',
  summary: 'List what a user holds in an application',
  description:
    'Every permission that the application defines, by group (those without one last), then code. Empty for an unknown application.',
  body: EffectiveQuestion,
  concerns: ({ body }) => [body.app],
  response: z.array(EffectivePermission),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { email: 'ben@example.com', app: 'atelier', resourceType: 'project', resourceId: '1042' },
    response: EFFECTIVE_EXAMPLE,
  },
  handle: ({ engine }, input) => askEffective(engine, rawSubject(input.body), effectivePermission, input),
});

const batchCheck = defineRoute({
  ...question,
  path: '/api/check/batch',
  operation: 'batchCheck',
  summary: 'Check permissions of any users for any records',
  description:
    'Answers each check in order, all at one revision: one call for a page of rows. A malformed check refuses the whole call and is named (`checks.3.resourceId`).',
  body: z.strictObject({ checks: checksField(CheckQuestion) }),
  concerns: ({ body }) => body.checks.map(({ app }) => app),
  limit: 'list',
  response: z.object({ results: z.array(CheckResult) }),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: {
      checks: ['ben@example.com', 'clara@example.com'].map((email) => ({
        email,
        app: 'atelier',
        permission: 'project.access',
        resourceType: 'project',
        resourceId: '1042',
      })),
    },
    response: {
      results: [
        { allowed: true, accessLevel: 'edit', source: 'role' },
        { allowed: false, accessLevel: null, source: 'override' },
      ],
    },
  },
  handle: ({ engine }, input) => askBatch(engine, input.body.checks.map(rawCheck), checkResult, input),
});

const explain = defineRoute({
  ...question,
  path: '/api/check/explain',
  operation: 'explain',
  summary: 'Explain the answer to a check',
  description:
    'Answers one check with the result of each of the six rules, read from the database and never from a cache of decisions. `strictCodes` refuses nothing here: `known` says what exists.',
  body: CheckQuestion,
  concerns: ({ body }) => [body.app],
  response: Explanation,
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION'],
  example: {
    body: {
      email: 'clara@example.com',
      app: 'atelier',
      permission: 'project.access',
      resourceType: 'project',
      resourceId: '1042',
    },
    response: EXPLANATION_EXAMPLE,
  },
  handle: ({ engine }, input) => askExplain(engine, rawCheck(input.body), explanation, input),
});

const clearCache = defineRoute({
  method: 'post',
  path: '/api/check/cache/clear',
  operation: 'clearCache',
  tag: 'Checks',
  summary: 'Forget every cached decision and fact',
  description: 'Of this instance, or of all. Only needed after rows were changed by hand.',
  guard: key('check'),
  query: z.strictObject({
    everywhere: flagParam.optional().meta({ description: 'True: every instance, within a second.' }),
  }),
  response: z.object({
    cleared: z.literal(true),
    message: z.string(),
    entries: z.int().meta({ description: 'The number of cached decisions of this instance that were still valid.' }),
  }),
  example: { response: { cleared: true, message: 'The cache of this instance is empty.', entries: 128 } },
  handle: async ({ engine, clearEverywhere }, { query }) => {
    const entries = engine.clear();
    if (query.everywhere !== true) {
      return { cleared: true, message: 'The cache of this instance is empty.', entries } as const;
    }
    const revision = await clearEverywhere();
    const message = 'The cache of every instance is empty, of others within a second.';
    return answer({ cleared: true, message, entries } as const, { revision });
  },
});

export const checkRoutes: readonly Route[] = [check, bulkCheck, effective, batchCheck, explain, clearCache];
