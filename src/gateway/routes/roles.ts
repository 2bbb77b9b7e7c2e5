/** Roles of an application (docs/reference/administration.md#permissions-and-roles). */

import { z } from 'zod';
import { LEVEL_NAMES, LEVELS } from '../../base/level-names.ts';
import type { RolePermission } from '../../catalog/roles.ts';
import { accessLevel } from '../questions/fields.ts';
import {
  AppParams,
  description,
  id,
  idParam,
  name,
  namedPermission,
  permissionOf,
  permissionSet,
  readOnly,
  roleCode,
  timestamp,
} from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route, removed, written } from '../route/route.ts';

export const Role = record('Role', {
  id,
  code: z.string(),
  name: z.string().nullable().meta({ description: 'The display name; null: the code is shown.' }),
  description: z.string().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

const RoleParams = z.strictObject({ ...AppParams.shape, roleId: idParam });

const listRoles = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/roles',
  operation: 'listRoles',
  tag: 'Roles',
  summary: 'All roles of an application',
  guard: applicationLevel('view'),
  params: AppParams,
  response: z.array(Role),
  errors: ['NOT_FOUND'],
  handle: ({ roles }, { params }) => roles.list(params.appCode),
});

const createRole = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/roles',
  operation: 'createRole',
  tag: 'Roles',
  summary: 'Create a role',
  guard: applicationLevel('edit'),
  refusal: 'role.created.refused',
  dryRun: true,
  params: AppParams,
  body: z.strictObject({ code: roleCode, name: name.nullable().optional(), description: description.optional() }),
  status: 201,
  response: Role,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS'],
  example: { body: { code: 'accountant', name: 'Accountant', description: 'Writes invoices.' } },
  handle: async ({ roles }, input) => {
    const { result, revision } = await roles.create(input.params.appCode, input.body, input);
    return answer(result, {
      revision,
      location: `/api/applications/${input.params.appCode}/roles/${result.id}`,
    });
  },
});

const changeRole = defineRoute({
  method: 'put',
  path: '/api/applications/:appCode/roles/:roleId',
  operation: 'updateRole',
  tag: 'Roles',
  summary: 'Change a role',
  guard: applicationLevel('edit'),
  refusal: 'role.changed.refused',
  dryRun: true,
  params: RoleParams,
  body: z.strictObject({
    name: name.nullable().optional(),
    description: description.optional(),
    code: roleCode.optional().meta({ description: 'Cannot be changed; only the current one may be sent.' }),
    id: readOnly,
    createdAt: readOnly,
    updatedAt: readOnly,
  }),
  response: Role,
  errors: ['NOT_FOUND', 'IMMUTABLE_FIELD'],
  example: { body: { description: 'Writes invoices and reminders.' } },
  handle: async ({ roles }, input) => {
    const { appCode, roleId } = input.params;
    return written(await roles.change(appCode, roleId, input.body, input));
  },
});

const deleteRole = defineRoute({
  method: 'delete',
  path: '/api/applications/:appCode/roles/:roleId',
  operation: 'deleteRole',
  tag: 'Roles',
  summary: 'Delete a role',
  description: 'Its assignments end with it.',
  guard: applicationLevel('edit'),
  refusal: 'role.deleted.refused',
  dryRun: true,
  params: RoleParams,
  errors: ['NOT_FOUND', 'SYSTEM_RECORD'],
  handle: async ({ roles }, input) => removed(await roles.delete(input.params.appCode, input.params.roleId, input)),
});

const RolePermissionAnswer = record('RolePermission', {
  permissions: z.array(z.strictObject({ permissionId: id, code: z.string(), accessLevel })),
});

function shownPermissions(permissions: readonly RolePermission[]): z.output<typeof RolePermissionAnswer> {
  return {
    permissions: permissions.map(({ permissionId, code, level }) => ({
      permissionId,
      code,
      accessLevel: LEVEL_NAMES[level],
    })),
  };
}

const readRolePermissions = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/roles/:roleId/permissions',
  operation: 'listRolePermissions',
  tag: 'Roles',
  summary: 'List the permissions of a role',
  guard: applicationLevel('view'),
  params: RoleParams,
  headers: ['if-none-match'],
  response: RolePermissionAnswer,
  errors: ['NOT_FOUND'],
  handle: async ({ roles }, { params }) => {
    const { permissions, etag } = await roles.permissions(params.appCode, params.roleId);
    return answer(shownPermissions(permissions), { etag });
  },
});

const replaceRolePermissions = defineRoute({
  method: 'put',
  path: '/api/applications/:appCode/roles/:roleId/permissions',
  operation: 'replaceRolePermissions',
  tag: 'Roles',
  summary: 'Replace the permissions of a role',
  guard: applicationLevel('edit'),
  refusal: 'role_permissions.replaced.refused',
  dryRun: true,
  params: RoleParams,
  headers: ['if-match'],
  body: z.strictObject({
    permissions: permissionSet(z.strictObject({ ...namedPermission, accessLevel })),
  }),
  limit: 'list',
  response: RolePermissionAnswer,
  errors: ['NOT_FOUND', 'UNKNOWN_REFERENCE', 'INVALID_ACCESS_LEVEL', 'IMMUTABLE_FIELD', 'STALE'],
  example: { body: { permissions: [{ permission: 'invoice.access', accessLevel: 'edit' }] } },
  handle: async ({ roles }, input) => {
    const { appCode, roleId } = input.params;
    const wanted = input.body.permissions.map(({ accessLevel: level, ...item }) => ({
      permission: permissionOf(item),
      code: item.code,
      level: LEVELS[level],
    }));
    const { result, revision } = await roles.replacePermissions(
      appCode,
      roleId,
      wanted,
      input.header('if-match'),
      input,
    );
    return answer(shownPermissions(result.permissions), { etag: result.etag, revision });
  },
});

export const roleRoutes: readonly Route[] = [
  listRoles,
  createRole,
  changeRole,
  deleteRole,
  readRolePermissions,
  replaceRolePermissions,
];
