/** The entity catalog of an application, and the records behind it (docs/reference/administration.md). */

import { z } from 'zod';
import { isResourceId, isStorableUrl, RULES } from '../../base/grammar.ts';
import { MAX_CURSOR, MAX_IDS } from '../../catalog/entity-items.ts';
import { bare } from '../route/envelopes.ts';
import {
  AppParams,
  description,
  id,
  idParam,
  line,
  name,
  readOnly,
  search,
  slug,
  text,
  timestamp,
} from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { pageInfo } from '../route/paging.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route, removed, written } from '../route/route.ts';

const Entity = record('Entity', {
  id,
  code: z.string().meta({ description: 'The `resourceType` of questions and overrides.' }),
  name: z.string(),
  description: z.string().nullable(),
  idLabel: z.string().nullable().meta({ description: 'How the panel labels the input of a `resourceId`.' }),
  listEndpoint: z.string().nullable(),
  listSearch: z.boolean(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

const fields = {
  description: description.optional(),
  idLabel: line(200).nullable().optional(),
  listEndpoint: z
    .string()
    .refine((url) => isStorableUrl(url, true), `must be ${RULES.url}`)
    .nullable()
    .optional()
    .meta({ description: 'The endpoint that lists the existing records of this type.' }),
  listSearch: z
    .boolean()
    .optional()
    .meta({ description: 'Whether the endpoint takes `q`, `cursor` and `ids`; default: false.' }),
};

const EntityParams = z.strictObject({ ...AppParams.shape, id: idParam });

const listEntities = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/entities',
  operation: 'listEntities',
  tag: 'Applications',
  summary: 'The entity catalog of an application',
  guard: applicationLevel('view'),
  params: AppParams,
  response: z.array(Entity),
  errors: ['NOT_FOUND'],
  handle: ({ entities }, { params }) => entities.list(params.appCode),
});

const createEntity = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/entities',
  operation: 'createEntity',
  tag: 'Applications',
  summary: 'Add an entity to the catalog',
  description: 'Once the catalog has an entity, new overrides of other resource types are refused.',
  guard: applicationLevel('edit'),
  refusal: 'entity.created.refused',
  dryRun: true,
  params: AppParams,
  body: z.strictObject({ code: slug, name, ...fields }),
  status: 201,
  response: Entity,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS'],
  example: {
    body: {
      code: 'invoice',
      name: 'Invoice',
      idLabel: 'Invoice number',
    },
  },
  handle: async ({ entities }, input) => {
    const { appCode } = input.params;
    const { description = null, idLabel = null, listEndpoint = null, listSearch = false, ...named } = input.body;
    const { result, revision } = await entities.create(
      appCode,
      { ...named, description, idLabel, listEndpoint, listSearch },
      input,
    );
    return answer(result, { revision, location: `/api/applications/${appCode}/entities/${result.id}` });
  },
});

const changeEntity = defineRoute({
  method: 'put',
  path: '/api/applications/:appCode/entities/:id',
  operation: 'updateEntity',
  tag: 'Applications',
  summary: 'Change an entity',
  description: 'Including its code, while no override names a resource of this type.',
  guard: applicationLevel('edit'),
  refusal: 'entity.changed.refused',
  dryRun: true,
  params: EntityParams,
  body: z.strictObject({
    code: slug.optional(),
    name: name.optional(),
    ...fields,
    id: readOnly,
    createdAt: readOnly,
    updatedAt: readOnly,
  }),
  response: Entity,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'ENTITY_IN_USE', 'SYSTEM_RECORD'],
  example: { body: { name: 'Invoice', listEndpoint: 'https://billing.example.com/api/invoices' } },
  handle: async ({ entities }, input) => {
    const { id: _, createdAt: __, updatedAt: ___, ...change } = input.body;
    return written(await entities.change(input.params.appCode, input.params.id, change, input));
  },
});

const deleteEntity = defineRoute({
  method: 'delete',
  path: '/api/applications/:appCode/entities/:id',
  operation: 'deleteEntity',
  tag: 'Applications',
  summary: 'Remove an entity from the catalog',
  description: 'Refused while overrides name resources of this type.',
  guard: applicationLevel('edit'),
  refusal: 'entity.deleted.refused',
  dryRun: true,
  params: EntityParams,
  errors: ['NOT_FOUND', 'ENTITY_IN_USE', 'SYSTEM_RECORD'],
  handle: async ({ entities }, input) => removed(await entities.delete(input.params.appCode, input.params.id, input)),
});

const EntityItems = record('EntityItems', {
  entityCode: z.string(),
  endpoint: z.string(),
  items: z.array(z.strictObject({ id: z.string(), label: z.string(), description: z.string().nullable() })),
  truncated: z.literal(true).optional().meta({ description: 'There were more than 1,000.' }),
  page: pageInfo.optional().meta({ description: 'Of an entity with `listSearch`.' }),
});

/** The identifiers in `ids`: each percent-encoded, so that one may contain a comma. */
const ids = z
  .string()
  .transform((text, context): string[] => {
    const parts = text.split(',');
    const decoded = parts.map(decodedOf);
    if (parts.length > MAX_IDS) context.addIssue({ code: 'custom', message: `must be at most ${MAX_IDS} ids` });
    const unfit = decoded.findIndex((one) => one === null || !isResourceId(one));
    if (unfit >= 0) {
      const rule = `each id must be ${RULES.resourceId}, percent-encoded`;
      context.addIssue({ code: 'custom', message: `${rule}; the one at ${unfit} is not` });
    }
    return context.issues.length > 0 ? z.NEVER : decoded.filter((one) => one !== null);
  })
  .optional()
  .meta({ description: `The records with these ids, at most ${MAX_IDS}: each percent-encoded, separated by commas.` });

/** The text of a percent-encoded one; null for a malformed one. */
function decodedOf(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

const listItems = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/entities/:entityCode/items',
  operation: 'listEntityItems',
  tag: 'Applications',
  summary: 'List the existing records of an entity',
  description: [
    "Calls the entity's `listEndpoint` with the bearer token of the caller. It may return an array, or one in `data`,",
    '`items` or `results`; ids are read from `id`, `code` or `uuid`, labels from `name`, `title` or `label`; a record without',
    'an id that an override could name is left out. Only origins in `entities.allowedOrigins` are called (outside production',
    'loopback too). 502 with `details.reason` without such an answer within 5 seconds and 1 MiB; redirects are not followed.',
    'Of an entity with `listSearch` the query goes to the endpoint as it is, which answers the page, and its `nextCursor`',
    '(or `page.nextCursor`). Of another one the answer is searched here, and there are no cursors.',
  ].join(' '),
  guard: applicationLevel('view'),
  params: z.strictObject({
    ...AppParams.shape,
    entityCode: z.string().meta({ description: "The entity's code." }),
  }),
  query: z.strictObject({
    q: search.meta({ description: 'Text in the id, label or description, in either case.' }),
    cursor: text(MAX_CURSOR)
      .refine((value) => value !== '', 'must not be empty')
      .optional()
      .meta({ description: 'The `nextCursor` of the page before. Only with `listSearch`.' }),
    ids,
  }),
  envelope: bare,
  response: EntityItems,
  errors: ['NOT_FOUND', 'NO_LIST_ENDPOINT', 'LIST_ENDPOINT_FAILED'],
  dear: false,
  handle: ({ entityItems }, { params, query, caller, signal }) => {
    const wanted = { search: query.q, cursor: query.cursor ?? null, ids: query.ids ?? null };
    return entityItems.list(params.appCode, params.entityCode, wanted, caller.token, signal);
  },
});

export const entityRoutes: readonly Route[] = [listEntities, createEntity, changeEntity, deleteEntity, listItems];
