/** Overrides of users for single records, which beat their roles (docs/reference/administration.md#assignments). */

import { z } from 'zod';
import { LEVEL_NAMES, LEVELS } from '../../base/level-names.ts';
import type { OverrideRow, PlacedOverrideRow } from '../../catalog/overrides.ts';
import { Level } from '../../engine/types.ts';
import { accessLevel } from '../questions/fields.ts';
import {
  id,
  MemberParams,
  namedPermission,
  permissionOf,
  permissionSet,
  resourceId,
  search,
  slug,
  timestamp,
  wantedWindow,
  windowFields,
} from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { keyedPage, keyedPageParams, pagedData, pageSchema } from '../route/paging.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

const ResourceParams = z.strictObject({
  ...MemberParams.shape,
  resourceType: slug.meta({ description: "The code of an entity in the application's catalog." }),
  resourceId: resourceId.meta({ description: 'The identifier of the record, percent-encoded.' }),
});

const override = {
  permissionId: id,
  code: z.string(),
  granted: z.boolean(),
  accessLevel: accessLevel.nullable().meta({ description: 'Null: denied.' }),
  ...windowFields,
};
const OverrideSet = record('ResourceOverrides', { permissions: z.array(z.strictObject(override)) });
const PlacedOverride = record('PlacedOverride', {
  resourceType: z.string(),
  resourceId: z.string(),
  ...override,
  createdAt: timestamp,
});

function toJson(row: OverrideRow): z.input<typeof OverrideSet>['permissions'][number] {
  const { permissionId, code, level, startsAt, endsAt } = row;
  return { permissionId, code, granted: level !== Level.NONE, accessLevel: LEVEL_NAMES[level], startsAt, endsAt };
}

const readOverrides = defineRoute({
  method: 'get',
  path: '/api/users/:email/apps/:appCode/resources/:resourceType/:resourceId/permissions',
  operation: 'listRecordOverrides',
  tag: 'Users',
  summary: 'The overrides of a user for one record',
  guard: applicationLevel('view'),
  params: ResourceParams,
  headers: ['if-none-match'],
  response: OverrideSet,
  errors: ['NOT_FOUND'],
  handle: async ({ overrides }, { params }) => {
    const { appCode, email, ...resource } = params;
    const found = await overrides.read(appCode, email, resource);
    return answer({ permissions: found.overrides.map(toJson) }, { etag: found.etag });
  },
});

const replaceOverrides = defineRoute({
  method: 'put',
  path: '/api/users/:email/apps/:appCode/resources/:resourceType/:resourceId/permissions',
  operation: 'replaceRecordOverrides',
  tag: 'Users',
  summary: 'Replace the overrides of a user for one record',
  description:
    'An empty list removes all of them. One that stands keeps its window, unless another one is sent. A granting override of a tiered permission has a level, by default `edit`; a denying one ' +
    'has none. In `auth` only SuperAdmins; a manager of every application may write overrides of `applications.manage` for ' +
    '`application` there, for every application on which they have `edit` themselves.',
  guard: applicationLevel('edit', { delegated: true }),
  refusal: 'override.replaced.refused',
  dryRun: true,
  params: ResourceParams,
  headers: ['if-match'],
  body: z.strictObject({
    permissions: permissionSet(
      z.strictObject({ ...namedPermission, granted: z.boolean(), accessLevel: accessLevel.nullish(), ...wantedWindow }),
    ),
  }),
  limit: 'list',
  response: OverrideSet,
  errors: [
    ...(['NOT_FOUND', 'FORBIDDEN', 'UNKNOWN_REFERENCE', 'INVALID_ACCESS_LEVEL'] as const),
    ...(['IMMUTABLE_FIELD', 'GLOBAL_PERMISSION', 'UNKNOWN_RESOURCE_TYPE', 'STALE', 'UPGRADE_UNFINISHED'] as const),
  ],
  example: { body: { permissions: [{ permission: 'invoice.access', granted: true, accessLevel: 'view' }] } },
  handle: async ({ overrides }, input) => {
    const { appCode, email, ...resource } = input.params;
    const wanted = input.body.permissions.map(({ granted, accessLevel: level, startsAt, endsAt, ...item }) => ({
      permission: permissionOf(item),
      code: item.code,
      granted,
      level: level === null || level === undefined ? undefined : LEVELS[level],
      startsAt,
      endsAt,
    }));
    const ifMatch = input.header('if-match');
    const { result, revision } = await overrides.replace(appCode, email, resource, wanted, ifMatch, input);
    return answer({ permissions: result.overrides.map(toJson) }, { etag: result.etag, revision });
  },
});

const Place = z.strictObject({ resourceType: slug, resourceId, permissionId: id });

const listOverrides = defineRoute({
  method: 'get',
  path: '/api/users/:email/apps/:appCode/resources',
  operation: 'listUserOverrides',
  tag: 'Users',
  summary: 'Every override of a user in an application',
  guard: applicationLevel('view'),
  params: MemberParams,
  query: z.strictObject({ ...keyedPageParams('overrides', Place), q: search }),
  envelope: pagedData,
  response: pageSchema(PlacedOverride),
  errors: ['NOT_FOUND'],
  handle: async ({ overrides }, { params, query }) => {
    const { limit, cursor, q } = query;
    const page = await overrides.list(params.appCode, params.email, { limit, after: cursor ?? null, search: q });
    const next = page.next && {
      resourceType: page.next.resourceType,
      resourceId: page.next.resourceId,
      permissionId: page.next.permissionId,
    };
    return keyedPage('overrides', { items: page.items, next }, shownPlaced);
  },
});

function shownPlaced(row: PlacedOverrideRow): z.input<typeof PlacedOverride> {
  const { resourceType, resourceId, createdAt } = row;
  return { resourceType, resourceId, ...toJson(row), createdAt };
}

export const overrideRoutes: readonly Route[] = [readOverrides, replaceOverrides, listOverrides];
