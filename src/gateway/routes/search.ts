/** One text over all that an administrator may see (docs/reference/administration.md#search). */

import { z } from 'zod';
import type { Found, FoundCode } from '../../directory/search.ts';
import { id, text } from '../route/fields.ts';
import { anyAdministrator } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';

const found = { appCode: z.string(), id, code: z.string(), description: z.string().nullable() };

const FoundRole = record('FoundRole', { ...found, name: z.string().nullable() });

const FoundPermission = record('FoundPermission', { ...found, type: z.enum(['tiered', 'binary']) });

const SearchAnswer = record('SearchAnswer', {
  people: z.array(record('FoundUser', { email: z.string(), displayName: z.string().nullable(), active: z.boolean() })),
  applications: z.array(record('FoundApplication', { code: z.string(), name: z.string() })),
  roles: z.array(FoundRole),
  permissions: z.array(FoundPermission),
});

function shownCode({ appCode, id, code, description }: FoundCode) {
  return { appCode, id, code, description };
}

function toJson({ people, applications, roles, permissions }: Found): z.output<typeof SearchAnswer> {
  return {
    people: people.map(({ email, displayName, active }) => ({ email, displayName, active })),
    applications: applications.map(({ code, name }) => ({ code, name })),
    roles: roles.map((role) => ({ ...shownCode(role), name: role.name ?? null })),
    permissions: permissions.map((one) => ({ ...shownCode(one), type: one.tiered ? 'tiered' : 'binary' })),
  };
}

const search = defineRoute({
  method: 'get',
  path: '/api/search',
  operation: 'search',
  tag: 'Applications',
  summary: 'Search people, applications, roles and permissions',
  description:
    'The best five of each kind, cut to what the caller may see: exact matches first, then those that begin with the text, then those that contain it. ' +
    'People are found by address or name, applications by code or name, roles and permissions by code.',
  guard: anyAdministrator,
  query: z.strictObject({
    q: text(64)
      .refine((value) => value !== '', 'must not be empty')
      .meta({ description: 'Text to search for, 1 to 64 characters, taken literally and ignoring case.' }),
  }),
  response: SearchAnswer,
  example: {
    response: {
      people: [{ email: 'ines.voice@example.com', displayName: 'Ines Voice', active: true }],
      applications: [{ code: 'invoices', name: 'Invoices' }],
      roles: [{ appCode: 'billing', id: 7, code: 'invoice-clerk', name: 'Clerk', description: 'Writes invoices.' }],
      permissions: [{ appCode: 'billing', id: 3, code: 'invoice.access', description: null, type: 'tiered' }],
    },
  },
  handle: async ({ search }, { caller, query }) => toJson(await search.find(caller.email, query.q)),
});

export const searchRoutes: readonly Route[] = [search];
