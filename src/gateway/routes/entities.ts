/** The entity catalog of an application, and the records behind it (docs/reference/administration.md). */

import { z } from 'zod';
import { isStorableUrl, RULES } from '../../base/grammar.ts';
import type { EntityRecord } from '../../catalog/entities.ts';
import { bare, noContent, successData } from '../route/envelopes.ts';
import { AppParams, description, id, idParam, line, name, readOnly, slug, timestamp } from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

const Entity = z.strictObject({
  id,
  code: z.string().meta({ description: 'The `resourceType` of questions and overrides.' }),
  name: z.string(),
  description: z.string().nullable(),
  idLabel: z.string().nullable().meta({ description: 'How the panel labels the input of a `resourceId`.' }),
  listEndpoint: z.string().nullable(),
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
};

const EntityParams = z.strictObject({ ...AppParams.shape, id: idParam });

function toJson({ createdAt, updatedAt, ...entity }: EntityRecord): z.output<typeof Entity> {
  return { ...entity, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

const listEntities = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/entities',
  tag: 'Applications',
  summary: 'The entity catalog of an application',
  guard: applicationLevel('view'),
  params: AppParams,
  envelope: successData,
  status: 200,
  response: z.array(Entity),
  errors: ['NOT_FOUND'],
  handle: async ({ entities }, { params }) => (await entities.list(params.appCode)).map(toJson),
});

const createEntity = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/entities',
  tag: 'Applications',
  summary: 'Add an entity to the catalog',
  description: 'Once the catalog has an entity, new overrides of other resource types are refused.',
  guard: applicationLevel('edit'),
  refusal: 'entity.created.refused',
  dryRun: true,
  params: AppParams,
  body: z.strictObject({ code: slug, name, ...fields }),
  envelope: successData,
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
    const { description = null, idLabel = null, listEndpoint = null, ...named } = input.body;
    const { result, revision } = await entities.create(
      appCode,
      { ...named, description, idLabel, listEndpoint },
      input,
    );
    return answer(toJson(result), { revision, location: `/api/applications/${appCode}/entities/${result.id}` });
  },
});

const changeEntity = defineRoute({
  method: 'put',
  path: '/api/applications/:appCode/entities/:id',
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
  envelope: successData,
  status: 200,
  response: Entity,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'ENTITY_IN_USE', 'SYSTEM_RECORD'],
  example: { body: { name: 'Invoice', listEndpoint: 'https://billing.example.com/api/invoices' } },
  handle: async ({ entities }, input) => {
    const { id: _, createdAt: __, updatedAt: ___, ...change } = input.body;
    const { result, revision } = await entities.change(input.params.appCode, input.params.id, change, input);
    return answer(toJson(result), { revision });
  },
});

const deleteEntity = defineRoute({
  method: 'delete',
  path: '/api/applications/:appCode/entities/:id',
  tag: 'Applications',
  summary: 'Remove an entity from the catalog',
  description: 'Refused while overrides name resources of this type.',
  guard: applicationLevel('edit'),
  refusal: 'entity.deleted.refused',
  dryRun: true,
  params: EntityParams,
  envelope: noContent,
  status: 204,
  errors: ['NOT_FOUND', 'ENTITY_IN_USE', 'SYSTEM_RECORD'],
  handle: async ({ entities }, input) => {
    const { revision } = await entities.delete(input.params.appCode, input.params.id, input);
    return answer(undefined, { revision });
  },
});

const EntityItems = z.strictObject({
  entityCode: z.string(),
  endpoint: z.string(),
  items: z.array(z.strictObject({ id: z.string(), label: z.string(), description: z.string().nullable() })),
  truncated: z.literal(true).optional().meta({ description: 'There were more than 1,000.' }),
});

const listItems = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/entities/:entityCode/items',
  tag: 'Applications',
  summary: 'List the existing records of an entity',
  description: [
    "Calls the entity's `listEndpoint` with the bearer token of the caller. It may return an array, or one in `data`,",
    '`items` or `results`; ids are read from `id`, `code` or `uuid`, labels from `name`, `title` or `label`; a record without',
    'an id that an override could name is left out. Only origins in `entities.allowedOrigins` are called (outside production',
    'loopback too). 502 with `details.reason` without such an answer within 5 seconds and 1 MiB; redirects are not followed.',
  ].join(' '),
  guard: applicationLevel('view'),
  params: z.strictObject({
    ...AppParams.shape,
    entityCode: z.string().meta({ description: "The entity's code." }),
  }),
  envelope: bare,
  status: 200,
  response: EntityItems,
  errors: ['NOT_FOUND', 'NO_LIST_ENDPOINT', 'LIST_ENDPOINT_FAILED'],
  handle: ({ entityItems }, { params, caller, signal }) =>
    entityItems.list(params.appCode, params.entityCode, caller.token, signal),
});

export const entityRoutes: readonly Route[] = [listEntities, createEntity, changeEntity, deleteEntity, listItems];
