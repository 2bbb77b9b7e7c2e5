/** Lists of subjects and of resources: for backends, for users about themselves, for administrators (docs/reference/lists.md). */

import { z } from 'zod';
import { appField, emailField } from '../questions/fields.ts';
import {
  askResources,
  askSubjects,
  ofKnownApplication,
  Resources,
  resourcesAnswer,
  resourcesFields,
  Subjects,
  subjectsFields,
} from '../questions/lists.ts';
import { bare } from '../route/envelopes.ts';
import { AppParams } from '../route/fields.ts';
import { applicationLevel, key, signedInEvenInactive } from '../route/guards.ts';
import { pagedData, pagedSchema, pageInfo } from '../route/paging.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

const WHO_CAN =
  'Everybody whom a check of the same question allows: by role or override, including administrators of the application, SuperAdmins and addresses without a record, but not inactive users. In a stable order; a person who qualifies throughout is listed exactly once. Each page reflects one revision.';
const REACH =
  'A filter for your own query: `all` with records to exclude (NOT IN), or `only` with records to include (IN). Exact even for records unknown to Usher. All pages reflect one state: 409 LIST_CHANGED when what the user holds, or the policy of the application, has changed since the first; then start over. A list of exceptions must not be used before it is complete.';

const SUBJECTS_EXAMPLE = {
  data: {
    subjects: [
      { email: 'admin@example.com', accessLevel: 'edit' as const, source: 'superadmin' as const },
      { email: 'ada@example.com', accessLevel: 'allowed' as const, source: 'role' as const },
      { email: 'ben@example.com', accessLevel: 'allowed' as const, source: 'override' as const },
      { email: 'nora@example.com', accessLevel: 'allowed' as const, source: 'app_admin' as const },
    ],
  },
  nextCursor: null,
};
const RESOURCES_EXAMPLE = { data: { scope: 'only' as const, resourceIds: ['1042'] }, nextCursor: null };

/** What all questions have in common. */
const question = { method: 'post', headers: ['usher-min-revision'] } as const;

const subjects = defineRoute({
  ...question,
  path: '/api/check/subjects',
  operation: 'listSubjects',
  tag: 'Checks',
  summary: 'List who holds a permission',
  description: WHO_CAN,
  guard: key('check'),
  body: z.strictObject({ app: appField, ...subjectsFields }),
  concerns: ({ body }) => [body.app],
  envelope: pagedData,
  response: pagedSchema(Subjects),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { app: 'atelier', permission: 'project.archive', resourceType: 'project', resourceId: '1042' },
    response: SUBJECTS_EXAMPLE,
  },
  quiet: true,
  dear: true,
  handle: async ({ engine }, input) => (await askSubjects(engine, input.body, input)).answer,
});

const resources = defineRoute({
  ...question,
  path: '/api/check/resources',
  operation: 'listResources',
  tag: 'Checks',
  summary: 'List the records that a user can reach',
  description: REACH,
  guard: key('check'),
  body: z.strictObject({ email: emailField, app: appField, ...resourcesFields }),
  concerns: ({ body }) => [body.app],
  envelope: pagedData,
  response: pagedSchema(Resources),
  errors: ['UNKNOWN_REVISION', 'UNKNOWN_CODE', 'LIST_CHANGED'],
  example: {
    body: { email: 'ben@example.com', app: 'atelier', permission: 'project.archive', resourceType: 'project' },
    response: RESOURCES_EXAMPLE,
  },
  quiet: true,
  dear: true,
  handle: async ({ engine }, input) => (await askResources(engine, input.body, input)).answer,
});

const myResources = defineRoute({
  ...question,
  path: '/api/profile/me/check/resources',
  operation: 'listMyResources',
  tag: 'Checks',
  summary: 'List the records that I can reach',
  description: REACH,
  guard: signedInEvenInactive,
  body: z.strictObject({ app: appField, ...resourcesFields }),
  envelope: bare,
  response: z.object({ ...resourcesAnswer, page: pageInfo }),
  errors: ['UNKNOWN_REVISION', 'UNKNOWN_CODE', 'LIST_CHANGED'],
  example: {
    body: { app: 'atelier', permission: 'project.archive', resourceType: 'project' },
    response: { ...RESOURCES_EXAMPLE.data, page: { nextCursor: null } },
  },
  quiet: true,
  dear: true,
  handle: async ({ engine }, input) => {
    const { email } = input.caller;
    const { payload, meta } = (await askResources(engine, { ...input.body, email }, input)).answer;
    return answer({ ...payload.data, page: { nextCursor: payload.nextCursor } }, meta);
  },
});

const applicationSubjects = defineRoute({
  ...question,
  path: '/api/applications/:appCode/subjects',
  operation: 'listSubjectsInApplication',
  tag: 'Applications',
  summary: 'List who holds a permission of the application',
  description: WHO_CAN,
  guard: applicationLevel('view'),
  params: AppParams,
  body: z.strictObject(subjectsFields),
  envelope: pagedData,
  response: pagedSchema(Subjects),
  errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_REVISION', 'UNKNOWN_CODE', 'NOT_FOUND'],
  example: {
    body: { permission: 'project.archive', resourceType: 'project', resourceId: '1042' },
    response: SUBJECTS_EXAMPLE,
  },
  dear: true,
  handle: ({ engine }, input) =>
    ofKnownApplication(engine, input, (app) => askSubjects(engine, { ...input.body, app }, input)),
});

const applicationResources = defineRoute({
  ...question,
  path: '/api/applications/:appCode/resources',
  operation: 'listResourcesInApplication',
  tag: 'Applications',
  summary: 'List the records of the application that a user can reach',
  description: REACH,
  guard: applicationLevel('view'),
  params: AppParams,
  body: z.strictObject({ email: emailField, ...resourcesFields }),
  envelope: pagedData,
  response: pagedSchema(Resources),
  errors: ['UNKNOWN_REVISION', 'UNKNOWN_CODE', 'LIST_CHANGED', 'NOT_FOUND'],
  example: {
    body: { email: 'ben@example.com', permission: 'project.archive', resourceType: 'project' },
    response: RESOURCES_EXAMPLE,
  },
  dear: true,
  handle: ({ engine }, input) =>
    ofKnownApplication(engine, input, (app) => askResources(engine, { ...input.body, app }, input)),
});

export const listRoutes: readonly Route[] = [
  subjects,
  resources,
  myResources,
  applicationSubjects,
  applicationResources,
];
