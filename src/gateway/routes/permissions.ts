/** Permissions of an application (docs/reference/administration.md#permissions-and-roles). */

import { z } from 'zod';
import type { Parent, PermissionRecord } from '../../catalog/permissions.ts';
import { AppParams, description, id, idParam, line, permissionCode, readOnly, timestamp } from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route, removed } from '../route/route.ts';

const type = z.enum(['binary', 'tiered']);

export const Permission = record('Permission', {
  id,
  code: z.string(),
  description: z.string().nullable(),
  type,
  groupName: z.string().nullable(),
  parentPermissionId: id.nullable(),
  global: z.boolean(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

const fields = {
  description: description.optional(),
  groupName: line(200).nullable().optional().meta({ description: 'The group in which the panel lists it.' }),
  parentPermissionId: id.nullable().optional().meta({ description: "Place in the panel's tree; decides nothing." }),
  parentPermission: permissionCode.nullable().optional().meta({ description: "The parent's code, instead of its id." }),
  global: z.boolean().optional().meta({ description: 'True: overrides for single resources are ignored.' }),
};

interface ParentFields {
  parentPermissionId?: number | null | undefined;
  parentPermission?: string | null | undefined;
}

const ONE_PARENT = {
  path: ['parentPermissionId'],
  message: 'send either parentPermissionId or parentPermission (its code)',
};

function hasOneParent({ parentPermissionId, parentPermission }: ParentFields): boolean {
  return parentPermissionId === undefined || parentPermission === undefined;
}

/** Undefined if the body does not name one. */
function parentOf({ parentPermissionId, parentPermission }: ParentFields): Parent | undefined {
  if (parentPermissionId === null || parentPermission === null) return null;
  if (parentPermissionId !== undefined) return { field: 'parentPermissionId', reference: parentPermissionId };
  return parentPermission === undefined ? undefined : { field: 'parentPermission', reference: parentPermission };
}

const PermissionParams = z.strictObject({ ...AppParams.shape, permissionId: idParam });

export function shownPermission(permission: PermissionRecord): z.input<typeof Permission> {
  const { id, code, description, tiered, ...rest } = permission;
  return { id, code, description, type: tiered ? 'tiered' : 'binary', ...rest };
}

const listPermissions = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/permissions',
  operation: 'listPermissions',
  tag: 'Permissions',
  summary: 'All permissions of an application',
  guard: applicationLevel('view'),
  params: AppParams,
  response: z.array(Permission),
  errors: ['NOT_FOUND'],
  handle: async ({ permissions }, { params }) => (await permissions.list(params.appCode)).map(shownPermission),
});

const createPermission = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/permissions',
  operation: 'createPermission',
  tag: 'Permissions',
  summary: 'Create a permission',
  guard: applicationLevel('edit'),
  refusal: 'permission.created.refused',
  dryRun: true,
  params: AppParams,
  body: z.strictObject({ code: permissionCode, type, ...fields }).refine(hasOneParent, ONE_PARENT),
  status: 201,
  response: Permission,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'UNKNOWN_REFERENCE'],
  example: {
    body: { code: 'invoice.read', type: 'tiered', groupName: 'Invoices', parentPermission: 'invoice.access' },
  },
  handle: async ({ permissions }, input) => {
    const { appCode } = input.params;
    const { type: wanted, description: about, groupName, global, code } = input.body;
    const { result, revision } = await permissions.create(
      appCode,
      {
        code,
        tiered: wanted === 'tiered',
        description: about ?? null,
        groupName: groupName ?? null,
        parent: parentOf(input.body) ?? null,
        global: global ?? false,
      },
      input,
    );
    return answer(shownPermission(result), {
      revision,
      location: `/api/applications/${appCode}/permissions/${result.id}`,
    });
  },
});

const changePermission = defineRoute({
  method: 'put',
  path: '/api/applications/:appCode/permissions/:permissionId',
  operation: 'updatePermission',
  tag: 'Permissions',
  summary: 'Change a permission',
  description: 'The type can change only while no role or override refers to it.',
  guard: applicationLevel('edit'),
  refusal: 'permission.changed.refused',
  dryRun: true,
  params: PermissionParams,
  body: z
    .strictObject({
      type: type.optional(),
      ...fields,
      code: z.string().optional().meta({ description: 'Cannot be changed; only the current one may be sent.' }),
      id: readOnly,
      createdAt: readOnly,
      updatedAt: readOnly,
    })
    .refine(hasOneParent, ONE_PARENT),
  response: Permission,
  errors: ['NOT_FOUND', 'IMMUTABLE_FIELD', 'UNKNOWN_REFERENCE', 'TYPE_IN_USE', 'SYSTEM_RECORD'],
  example: { body: { description: 'See invoices, or write them.', groupName: 'Finance' } },
  handle: async ({ permissions }, input) => {
    const { type: wanted, parentPermissionId: _, parentPermission: __, ...fields } = input.body;
    const change = { ...fields, parent: parentOf(input.body) };
    const { appCode, permissionId } = input.params;
    const tiered = wanted === undefined ? undefined : wanted === 'tiered';
    const { result, revision } = await permissions.change(appCode, permissionId, { ...change, tiered }, input);
    return answer(shownPermission(result), { revision });
  },
});

const deletePermission = defineRoute({
  method: 'delete',
  path: '/api/applications/:appCode/permissions/:permissionId',
  operation: 'deletePermission',
  tag: 'Permissions',
  summary: 'Delete a permission',
  description: 'Removes it from roles and deletes its overrides; its children lose their parent.',
  guard: applicationLevel('edit'),
  refusal: 'permission.deleted.refused',
  dryRun: true,
  params: PermissionParams,
  errors: ['NOT_FOUND', 'SYSTEM_RECORD'],
  handle: async ({ permissions }, input) =>
    removed(await permissions.delete(input.params.appCode, input.params.permissionId, input)),
});

export const permissionRoutes: readonly Route[] = [
  listPermissions,
  createPermission,
  changePermission,
  deletePermission,
];
