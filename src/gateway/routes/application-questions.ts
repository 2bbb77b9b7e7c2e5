/** Administrators' questions about people in their application (docs/reference/decisions.md#doors): reads, in `auth` too. */

import { z } from 'zod';
import { unknownApplication } from '../../administration/records.ts';
import { isSlug } from '../../base/grammar.ts';
import { askExplain } from '../questions/ask.ts';
import {
  EXPLANATION_EXAMPLE,
  Explanation,
  emailField,
  explanation,
  levelField,
  permissionField,
  rawCheck,
  resourceFields,
} from '../questions/fields.ts';
import { successData } from '../route/envelopes.ts';
import { AppParams } from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { defineRoute, type Route } from '../route/route.ts';

const explain = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/explain',
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
  envelope: successData,
  status: 200,
  response: Explanation,
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'NOT_FOUND'],
  example: {
    body: { email: 'jana@example.com', permission: 'contacts.manage', resourceType: 'contact', resourceId: '43' },
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

export const applicationQuestionRoutes: readonly Route[] = [explain];
