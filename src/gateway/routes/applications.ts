/** The registry of applications (docs/reference/administration.md#applications). */

import { z } from 'zod';
import { tagOf } from '../../administration/records.ts';
import type { ApplicationOrder, ApplicationPlace } from '../../catalog/applications.ts';
import { codeResponse } from '../route/envelopes.ts';
import {
  AppParams,
  applicationCode,
  description,
  id,
  name,
  readOnly,
  search,
  text,
  timestamp,
} from '../route/fields.ts';
import { anyAdministrator, applicationLevel, managerOfAll, signedIn } from '../route/guards.ts';
import { keyedPage, limitOf, optionallyPaged, optionalPageParams, optionalPageSchema } from '../route/paging.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

const Application = record('Application', {
  id,
  code: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  supportedLanguages: z.array(z.string()).meta({ description: 'In the order given; empty means any language.' }),
  strictCodes: z
    .boolean()
    .meta({ description: 'Whether questions that name an unknown permission or resource type are refused.' }),
  tellEndings: z.boolean().meta({ description: 'Whether people are told that a grant of theirs ends soon.' }),
  createdAt: timestamp,
  updatedAt: timestamp,
});

const count = z.int().nonnegative();
const ListedApplication = record('ListedApplication', {
  ...Application.shape,
  counts: z.strictObject({ people: count, roles: count, permissions: count, admins: count }).meta({
    description:
      'How much the application holds. `people` are its users; of very many the number may be some seconds old.',
  }),
});

/** A code that the language registry lacks is UNKNOWN_LANGUAGES, even a malformed one, not VALIDATION_FAILED. */
const supportedLanguages = z
  .array(text(64))
  .max(500)
  .refine((codes) => new Set(codes).size === codes.length, 'must name each language once')
  .meta({ description: 'Codes of the language registry. Replaces the whole stored list.' });

const strictCodes = z.boolean().meta({
  description:
    'Refuses a question that names a permission which the application does not define, or a resource type that its catalog (once it has an entry) does not list: 400 UNKNOWN_CODE. Default false.',
});

const tellEndings = z.boolean().meta({
  description:
    'Tells a person three days before a grant of theirs ends that runs for more than seven, by the type `generic` and the template `access-ending` where there is one. Default true.',
});

const LIST = 'applications';

/** The order of the list, the key of a place in it, and the code. */
const Place = z.union([
  z.tuple([z.enum(['code', 'name']), z.string(), applicationCode]),
  z.tuple([z.literal('updatedAt'), timestamp, applicationCode]),
  z.tuple([z.enum(['people', 'roles', 'permissions', 'admins']), count, applicationCode]),
]);

const ApplicationsQuery = z
  .strictObject({
    ...optionalPageParams(LIST, Place),
    q: search,
    sort: z.enum(['code', 'name', 'updatedAt', 'people', 'roles', 'permissions', 'admins']).optional().meta({
      description:
        'By code (the default) or name, by the last change, the newest first, or by what is counted, the most first.',
    }),
  })
  .superRefine(({ sort = 'code', cursor }, context) => {
    if (cursor === undefined || cursor[0] === sort) return;
    context.addIssue({ code: 'custom', path: ['cursor'], message: 'is not a cursor of this order of the list' });
  });

function placeOf([order, key, code]: z.output<typeof Place>): ApplicationPlace {
  return { key: order === 'updatedAt' ? new Date(key) : key, code };
}

function keyOf(order: ApplicationOrder, { key, code }: ApplicationPlace) {
  return [order, key instanceof Date ? key.toISOString() : key, code];
}

const listApplications = defineRoute({
  method: 'get',
  path: '/api/applications',
  operation: 'listApplications',
  tag: 'Applications',
  summary: 'List the applications that the caller may view',
  description:
    'Empty for a panel user without a level on any. Whole, by code, unless `limit` or `cursor` asks for a page of it.',
  guard: anyAdministrator,
  query: ApplicationsQuery,
  headers: ['if-none-match'],
  envelope: optionallyPaged,
  response: optionalPageSchema(ListedApplication),
  handle: async ({ applications }, { caller, query }) => {
    const { q, sort, cursor } = query;
    const limit = limitOf(query);
    if (limit === null && q === null && sort === undefined) {
      const data = await applications.list(caller.email);
      return answer({ data }, { etag: tagOf(data) });
    }
    const order = sort ?? 'code';
    const after = cursor === undefined ? null : placeOf(cursor);
    const page = await applications.page(caller.email, { search: q, order, limit, after });
    const next = page.next === null ? null : keyOf(order, page.next);
    const shown = keyedPage(LIST, { ...page, next }, (application) => application);
    return answer(limit === null ? { data: shown.data } : shown, { etag: tagOf(shown) });
  },
});

const createApplication = defineRoute({
  method: 'post',
  path: '/api/applications',
  operation: 'createApplication',
  tag: 'Applications',
  summary: 'Create an application',
  description: 'It starts with only the notification type `generic`.',
  guard: managerOfAll(),
  refusal: 'application.created.refused',
  dryRun: true,
  body: z.strictObject({
    code: applicationCode,
    name,
    description: description.optional(),
    supportedLanguages: supportedLanguages.optional(),
    strictCodes: strictCodes.optional(),
    tellEndings: tellEndings.optional(),
  }),
  status: 201,
  response: Application,
  errors: ['ALREADY_EXISTS', 'UNKNOWN_LANGUAGES'],
  example: { body: { code: 'billing', name: 'Billing', supportedLanguages: ['cs', 'en'] } },
  handle: async ({ applications }, input) => {
    const { result, revision } = await applications.create(input.body, input);
    const { application, etag } = result;
    return answer(application, { revision, etag, location: `/api/applications/${application.code}` });
  },
});

const readApplication = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode',
  operation: 'getApplication',
  tag: 'Applications',
  summary: 'One application',
  guard: applicationLevel('view'),
  params: AppParams,
  headers: ['if-none-match'],
  response: Application,
  errors: ['NOT_FOUND'],
  handle: async ({ applications }, { params }) => {
    const { application, etag } = await applications.get(params.appCode);
    return answer(application, { etag });
  },
});

const changeApplication = defineRoute({
  method: 'put',
  path: '/api/applications/:appCode',
  operation: 'updateApplication',
  tag: 'Applications',
  summary: 'Change an application',
  guard: applicationLevel('edit'),
  refusal: 'application.changed.refused',
  dryRun: true,
  params: AppParams,
  headers: ['if-match'],
  body: z.strictObject({
    name: name.optional(),
    description: description.optional(),
    supportedLanguages: supportedLanguages.optional(),
    strictCodes: strictCodes.optional(),
    tellEndings: tellEndings.optional(),
    code: z.string().optional().meta({ description: 'Cannot be changed; only the current one may be sent.' }),
    id: readOnly,
    counts: readOnly,
    createdAt: readOnly,
    updatedAt: readOnly,
  }),
  response: Application,
  errors: ['NOT_FOUND', 'IMMUTABLE_FIELD', 'UNKNOWN_LANGUAGES', 'STALE'],
  example: { body: { name: 'Billing and dunning', supportedLanguages: ['en'] } },
  handle: async ({ applications }, input) => {
    const { result, revision } = await applications.change(
      input.params.appCode,
      input.body,
      input.header('if-match'),
      input,
    );
    return answer(result.application, { etag: result.etag, revision });
  },
});

const deleteApplication = defineRoute({
  method: 'delete',
  path: '/api/applications/:appCode',
  operation: 'deleteApplication',
  tag: 'Applications',
  summary: 'Delete an application and everything in it',
  description:
    'Deletes its entities, permissions, roles, assignments, overrides, admins, notification types, templates and notifications too.',
  guard: managerOfAll('appCode'),
  refusal: 'application.deleted.refused',
  dryRun: true,
  params: AppParams,
  status: 204,
  errors: ['NOT_FOUND', 'SYSTEM_RECORD'],
  handle: async ({ applications }, input) => {
    const { revision } = await applications.delete(input.params.appCode, input);
    return answer(undefined, { revision });
  },
});

const readTexts = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/i18n/:locale',
  operation: 'getTexts',
  tag: 'Applications',
  summary: 'The texts of an application by key',
  description:
    'Flat: `notifications.types.<code>.title`, and `notifications.types.<code>.description` if present. Texts are stored without a locale, so every locale gets the same.',
  guard: signedIn,
  params: z.strictObject({ ...AppParams.shape, locale: z.string().meta({ description: 'Any locale.' }) }),
  envelope: codeResponse,
  response: z.record(z.string(), z.string()),
  errors: ['NOT_FOUND'],
  handle: ({ applications }, { params }) => applications.texts(params.appCode),
});

export const applicationRoutes: readonly Route[] = [
  listApplications,
  createApplication,
  readApplication,
  changeApplication,
  deleteApplication,
  readTexts,
];
