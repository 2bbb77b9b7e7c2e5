/** What operators look up: internal keys and the configuration (docs/reference/callers.md#use-of-keys, service.md#configuration). */

import { z } from 'zod';
import { tagOf } from '../../administration/records.ts';
import { KEY_SCOPES } from '../../identity/api-keys.ts';
import { timestamp } from '../route/fields.ts';
import { superAdmin } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

const Key = record('InternalKey', {
  name: z.string(),
  scopes: z.array(z.enum(KEY_SCOPES)),
  apps: z
    .array(z.string())
    .nullable()
    .meta({ description: 'The codes of the applications that it is narrowed to. Null: all.' }),
  lastUsedAt: timestamp.nullable().meta({
    description: 'The newest use by any instance, at most a minute late. Null: never used.',
  }),
});

const listKeys = defineRoute({
  method: 'get',
  path: '/api/admin/keys',
  operation: 'listKeys',
  tag: 'Operations',
  summary: 'The internal keys, without their values',
  description:
    'In the order of the configuration of the instance that answers. A key is known by its name: another key of the same name goes on with its uses.',
  guard: superAdmin,
  headers: ['if-none-match'],
  response: z.array(Key),
  example: {
    response: [
      { name: 'billing', scopes: ['check', 'notify'], apps: ['billing'], lastUsedAt: '2026-01-05T08:30:00.000Z' },
    ],
  },
  handle: async ({ keyUses }) => {
    const keys = (await keyUses.list()).map((key) => ({
      ...key,
      apps: key.apps === null ? null : [...key.apps],
      scopes: KEY_SCOPES.filter((scope) => key.scopes.includes(scope)),
    }));
    return answer(keys, { etag: tagOf(keys) });
  },
});

const Value = record('ConfigurationValue', {
  key: z.string(),
  variable: z.string(),
  value: z.unknown().meta({ description: 'The value in effect; `***` in place of a secret.' }),
  source: z.enum(['environment', 'file', 'default']),
});

const readConfig = defineRoute({
  method: 'get',
  path: '/api/admin/config',
  operation: 'getConfig',
  tag: 'Operations',
  summary: 'The effective configuration, secrets masked',
  description: 'Of the instance that answers, as the command `config` prints it.',
  guard: superAdmin,
  headers: ['if-none-match'],
  response: z.array(Value),
  example: { response: [{ key: 'http.port', variable: 'HTTP_PORT', value: 8080, source: 'default' }] },
  handle: ({ configuration }) => answer([...configuration], { etag: tagOf(configuration) }),
});

export const operatorRoutes: readonly Route[] = [listKeys, readConfig];
