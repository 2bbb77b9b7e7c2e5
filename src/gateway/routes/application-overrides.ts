/** The overrides of everybody in an application (docs/reference/administration.md#assignments). */

import { z } from 'zod';
import { UsherError } from '../../base/errors.ts';
import { LEVEL_NAMES } from '../../base/level-names.ts';
import type { AppOverrideRow } from '../../catalog/application-overrides.ts';
import { Level } from '../../engine/types.ts';
import { accessLevel } from '../questions/fields.ts';
import {
  AppParams,
  email,
  endingWithinDays,
  id,
  permissionCode,
  resourceId,
  slug,
  timestamp,
  windowFields,
} from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { keyedPage, keyedPageParams, pagedData, pageSchema } from '../route/paging.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route, written } from '../route/route.ts';

const LIST = 'application-overrides';
const MAX_DELETED = 1000;

const AppOverride = record('Override', {
  email: z.string(),
  resourceType: z.string(),
  resourceId: z.string(),
  permission: z.string().meta({ description: 'The code.' }),
  granted: z.boolean(),
  accessLevel: accessLevel.nullable().meta({ description: 'Null: denied.' }),
  createdAt: timestamp,
  ...windowFields,
});

function toJson(row: AppOverrideRow): z.input<typeof AppOverride> {
  return {
    email: row.email,
    resourceType: row.resourceType,
    resourceId: row.resourceId,
    permission: row.code,
    granted: row.level !== Level.NONE,
    accessLevel: LEVEL_NAMES[row.level],
    createdAt: row.createdAt,
    startsAt: row.startsAt,
    endsAt: row.endsAt,
  };
}

const Place = z.strictObject({ permissionId: id, resourceType: slug, resourceId, personId: id });

const listOverrides = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/overrides',
  operation: 'listOverrides',
  tag: 'Applications',
  summary: 'The overrides of everybody in an application',
  description:
    'By permission, record and person. Filters narrow the list together; a `resourceId` needs its `resourceType`.',
  guard: applicationLevel('view'),
  params: AppParams,
  query: z.strictObject({
    ...keyedPageParams(LIST, Place),
    resourceType: slug.optional().meta({ description: 'For records of this type only.' }),
    resourceId: resourceId.optional().meta({ description: 'For this record only.' }),
    email: email.optional(),
    permission: permissionCode.optional().meta({ description: 'Of this permission only: its code.' }),
    endingWithinDays: endingWithinDays.meta({
      description: 'Only those that end within that number of days, 1 to 365.',
    }),
  }),
  envelope: pagedData,
  response: pageSchema(AppOverride),
  errors: ['NOT_FOUND', 'INCOMPLETE_RESOURCE'],
  example: {
    response: {
      data: [
        {
          email: 'ben@example.com',
          resourceType: 'invoice',
          resourceId: '1042',
          permission: 'invoice.access',
          granted: true,
          accessLevel: 'view',
          createdAt: '2026-01-05T08:30:00.000Z',
          startsAt: null,
          endsAt: '2026-12-04T17:00:00.000Z',
        },
      ],
      nextCursor: null,
    },
  },
  handle: async ({ applicationOverrides }, { params, query }) => {
    const { limit, cursor, ...sought } = query;
    if (sought.resourceId !== undefined && sought.resourceType === undefined) {
      throw new UsherError('INCOMPLETE_RESOURCE', 'resourceId needs the resourceType of the record.');
    }
    const page = await applicationOverrides.list(params.appCode, sought, { limit, after: cursor ?? null });
    const next = page.next && {
      permissionId: page.next.permissionId,
      resourceType: page.next.resourceType,
      resourceId: page.next.resourceId,
      personId: page.next.personId,
    };
    return keyedPage(LIST, { items: page.items, next }, toJson);
  },
});

const deleteOverrides = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/overrides/delete',
  operation: 'deleteOverrides',
  tag: 'Applications',
  summary: 'Delete overrides of any people',
  description:
    'In one transaction. An override that does not exist is not counted. In `auth` only SuperAdmins, and managers of every application within the same limits as for the overrides of one user.',
  guard: applicationLevel('edit', { delegated: true }),
  refusal: 'override.removed.refused',
  dryRun: true,
  params: AppParams,
  body: z.strictObject({
    overrides: z
      .array(
        z.strictObject({
          email,
          resourceType: slug,
          resourceId,
          permission: permissionCode.meta({ description: 'The code.' }),
        }),
      )
      .max(MAX_DELETED)
      .meta({ description: `At most ${MAX_DELETED}.` }),
  }),
  limit: 'list',
  response: z.strictObject({ deleted: z.int().nonnegative().meta({ description: 'How many existed.' }) }),
  errors: ['NOT_FOUND', 'FORBIDDEN', 'UNKNOWN_REFERENCE'],
  example: {
    body: {
      overrides: [
        { email: 'ben@example.com', resourceType: 'invoice', resourceId: '1042', permission: 'invoice.access' },
      ],
    },
    response: { deleted: 1 },
  },
  handle: async ({ applicationOverrides }, input) =>
    written(await applicationOverrides.delete(input.params.appCode, input.body.overrides, input)),
});

export const applicationOverrideRoutes: readonly Route[] = [listOverrides, deleteOverrides];
