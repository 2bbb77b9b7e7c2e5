/** What every role of an application grants, as one table (docs/reference/administration.md#the-matrix). */

import { z } from 'zod';
import { LEVEL_NAMES, LEVELS } from '../../base/level-names.ts';
import type { Matrix, WantedCell } from '../../catalog/matrix.ts';
import { Level } from '../../engine/types.ts';
import { accessLevel } from '../questions/fields.ts';
import { AppParams, id, namedPermission, permissionOf, roleCode } from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';
import { Permission, shownPermission } from './permissions.ts';
import { Role } from './roles.ts';

const MAX_CHANGES = 1000;

const MatrixAnswer = record('Matrix', {
  permissions: z.array(Permission),
  roles: z.array(
    z.strictObject({
      ...Role.shape,
      holders: z.int().nonnegative().meta({ description: 'How many people hold the role.' }),
    }),
  ),
  levels: z
    .array(z.strictObject({ roleId: id, permissionId: id, accessLevel }))
    .meta({ description: 'The cells that hold a level.' }),
});

const change = z
  .strictObject({
    roleId: id.optional(),
    role: roleCode.optional().meta({ description: 'The code, in place of the id.' }),
    ...namedPermission,
    accessLevel: accessLevel.nullable().meta({ description: 'Null: the role no longer grants the permission.' }),
  })
  .refine(({ roleId, role }) => (roleId === undefined) !== (role === undefined), {
    path: ['roleId'],
    message: 'send either roleId or role (its code)',
  })
  .refine(({ permissionId, permission }) => (permissionId === undefined) !== (permission === undefined), {
    path: ['permissionId'],
    message: 'send either permissionId or permission (its code)',
  });

function wantedCell({ roleId, role, accessLevel: level, ...item }: z.output<typeof change>): WantedCell {
  const reference = roleId ?? role;
  if (reference === undefined) throw new Error('the schema requires role or roleId');
  return {
    role: reference,
    permission: permissionOf(item),
    code: item.code,
    level: level === null ? Level.NONE : LEVELS[level],
  };
}

function shownMatrix({ permissions, roles, levels }: Matrix): z.input<typeof MatrixAnswer> {
  return {
    permissions: permissions.map(shownPermission),
    roles: roles.map(({ holders, ...role }) => ({ ...role, holders })),
    levels: levels.map(({ level, ...cell }) => ({ ...cell, accessLevel: LEVEL_NAMES[level] })),
  };
}

const AT = '2026-01-05T08:30:00.000Z';
const EXAMPLE: z.output<typeof MatrixAnswer> = {
  permissions: [
    {
      id: 3,
      code: 'invoice.access',
      description: null,
      type: 'tiered',
      groupName: 'Invoices',
      parentPermissionId: null,
      global: false,
      createdAt: AT,
      updatedAt: AT,
    },
  ],
  roles: [
    {
      id: 7,
      code: 'accountant',
      name: 'Accountant',
      description: 'Writes invoices.',
      createdAt: AT,
      updatedAt: AT,
      holders: 12,
    },
  ],
  levels: [{ roleId: 7, permissionId: 3, accessLevel: 'edit' }],
};

const readMatrix = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/matrix',
  operation: 'getMatrix',
  tag: 'Roles',
  summary: 'What every role of an application grants',
  description:
    'Permissions and roles by code, the number of people who hold each role, and the levels, all of one moment.',
  guard: applicationLevel('view'),
  params: AppParams,
  headers: ['if-none-match'],
  response: MatrixAnswer,
  errors: ['NOT_FOUND'],
  example: { response: EXAMPLE },
  handle: async ({ matrices }, { params }) => {
    const matrix = await matrices.read(params.appCode);
    return answer(shownMatrix(matrix), { etag: matrix.etag });
  },
});

const changeMatrix = defineRoute({
  method: 'put',
  path: '/api/applications/:appCode/matrix',
  operation: 'updateMatrix',
  tag: 'Roles',
  summary: 'Change what roles grant',
  description:
    'Changes the levels sent, in one transaction, and keeps the others. With `If-Match`: 412 STALE when permissions, roles or levels have changed since they were read; the number of holders does not count.',
  guard: applicationLevel('edit'),
  refusal: 'role_permissions.replaced.refused',
  dryRun: true,
  params: AppParams,
  headers: ['if-match'],
  body: z.strictObject({
    changes: z
      .array(change)
      .max(MAX_CHANGES)
      .meta({ description: `At most ${MAX_CHANGES}, each pair of role and permission once.` }),
  }),
  limit: 'list',
  response: MatrixAnswer,
  errors: ['NOT_FOUND', 'UNKNOWN_REFERENCE', 'INVALID_ACCESS_LEVEL', 'IMMUTABLE_FIELD', 'STALE'],
  example: {
    body: {
      changes: [
        { roleId: 7, permissionId: 3, accessLevel: 'edit' },
        { role: 'reader', permission: 'invoice.approve', accessLevel: null },
      ],
    },
    response: EXAMPLE,
  },
  handle: async ({ matrices }, input) => {
    const wanted = input.body.changes.map(wantedCell);
    const { result, revision } = await matrices.change(input.params.appCode, wanted, input.header('if-match'), input);
    return answer(shownMatrix(result), { etag: result.etag, revision });
  },
});

export const matrixRoutes: readonly Route[] = [readMatrix, changeMatrix];
