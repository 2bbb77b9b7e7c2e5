/** Administrators' questions about people in their application (docs/reference/decisions.md#doors): reads, in `auth` too. */

import { z } from 'zod';
import { unknownApplication } from '../../administration/records.ts';
import { isSlug } from '../../base/grammar.ts';
import { askEffective, askExplain } from '../questions/ask.ts';
import {
  EFFECTIVE_EXAMPLE,
  EffectivePermission,
  EXPLANATION_EXAMPLE,
  Explanation,
  effectivePermission,
  emailField,
  explanation,
  levelField,
  permissionField,
  rawCheck,
  rawSubject,
  resourceFields,
} from '../questions/fields.ts';
import { ofKnownApplication } from '../questions/lists.ts';
import { AppParams } from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { defineRoute, type Route } from '../route/route.ts';

const explain = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/explain',
  operation: 'explainInApplication',
  tag: 'Applications',
  summary: 'Explain why a user holds a permission of the application, or does not',
  description:
    'As /api/check/explain, for administrators: the result of each of the six rules, read from the database.',
  guard: applicationLevel('view'),
  params: AppParams,
  headers: ['usher-min-revision'],
  body: z.strictObject({
    email: emailField,
    permission: permissionField,
    ...resourceFields,
    accessLevel: levelField,
  }),
  response: Explanation,
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'NOT_FOUND'],
  example: {
    body: { email: 'clara@example.com', permission: 'project.access', resourceType: 'project', resourceId: '1042' },
    response: EXPLANATION_EXAMPLE,
  },
  handle: ({ engine }, input) => {
    const app = input.params.appCode;
    if (!isSlug(app)) throw unknownApplication(app);
    return askExplain(
      engine,
      rawCheck({ ...input.body, app }),
      (answer) => {
        if (!answer.known.application) throw unknownApplication(app);
        return explanation(answer);
      },
      input,
    );
  },
});

const effective = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/effective',
  operation: 'listEffectiveInApplication',
  tag: 'Applications',
  summary: 'List what a user holds in the application',
  description:
    'As /api/check/effective, for administrators: every permission that the application defines, by group (those without one last), then code.',
  guard: applicationLevel('view'),
  params: AppParams,
  headers: ['usher-min-revision'],
  body: z.strictObject({ email: emailField, ...resourceFields }),
  response: z.array(EffectivePermission),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE', 'NOT_FOUND'],
  example: {
    body: { email: 'ben@example.com', resourceType: 'project', resourceId: '1042' },
    response: EFFECTIVE_EXAMPLE,
  },
  handle: ({ engine }, input) =>
    ofKnownApplication(engine, input, async (app) => {
      const found = await askEffective(engine, rawSubject({ ...input.body, app }), effectivePermission, input);
      // An empty answer is that of an application without permissions, or of an unknown one.
      return { page: { applicationKnown: found.payload.length > 0 ? true : null }, answer: found };
    }),
});

export const applicationQuestionRoutes: readonly Route[] = [explain, effective];
