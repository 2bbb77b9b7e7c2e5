/** Many people at once (docs/reference/people.md#import). */

import { z } from 'zod';
import { MAX_IMPORTED } from '../../directory/people-import.ts';
import type { Caller } from '../../identity/tokens.ts';
import { flagParam } from '../route/fields.ts';
import { type Guard, KEY_HEADER, superAdmin } from '../route/guards.ts';
import { DEADLINE_MS } from '../route/limits.ts';
import { isKeyCaller, type KeyCaller, orKey } from '../route/or-key.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

const byKey = orKey('manifest', superAdmin);

/** A key needs both scopes: an import writes profiles, and gives roles. */
const importer: Guard<Caller | KeyCaller> = {
  ...byKey,
  name: `${superAdmin.name} or key(profile+manifest)`,
  description: `${superAdmin.description} Or an internal API key with the scopes \`profile\` and \`manifest\`, which is not for browsers.`,
  identify: (services, request) => {
    const value = request.header(KEY_HEADER);
    if (value !== undefined) services.keys.authorize(value, 'profile');
    return byKey.identify(services, request);
  },
};

const cell = z.string().max(1000).optional();
const Person = z.strictObject({
  email: z.string().max(1000),
  firstName: cell,
  lastName: cell,
  displayName: cell,
  locale: cell.meta({ description: 'A language of the registry.' }),
  timezone: cell,
  brand: cell.meta({ description: 'The slug of a brand.' }),
  roles: z
    .array(z.string().max(1000))
    .max(1000)
    .optional()
    .meta({ description: '`APP/ROLE` each. Given in addition to those that the person holds.' }),
});

const count = z.int().nonnegative();
const ImportResult = record('ImportResult', {
  dryRun: z.boolean(),
  created: count.meta({ description: 'People who had no profile.' }),
  changed: count.meta({ description: 'People with another profile before, and those who were given a role.' }),
  kept: count.meta({ description: 'People who are as the list has them.' }),
  rolesGiven: count,
});

const importPeople = defineRoute({
  method: 'post',
  path: '/api/users/import',
  operation: 'importUsers',
  tag: 'Users',
  summary: 'Import people',
  description: [
    `Makes the people who are missing, at most ${MAX_IMPORTED} in one transaction, and changes the others where the list says`,
    'something else; repeated it changes nothing. Names are taken only where nobody has changed them. What is absent stays; roles',
    'are given and never taken. Every fault is told at once, unknown roles, brands and languages among them.',
  ].join(' '),
  guard: importer,
  refusal: 'people.imported.refused',
  query: z.strictObject({
    dryRun: flagParam.default(false).meta({ description: 'Tell what would be done, and change nothing.' }),
  }),
  body: z.strictObject({ people: z.array(Person).min(1).max(MAX_IMPORTED) }),
  limit: 'list',
  response: ImportResult,
  errors: ['VALIDATION_FAILED'],
  deadlineMs: DEADLINE_MS.manifest,
  example: {
    body: {
      people: [{ email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace', roles: ['billing/accountant'] }],
    },
  },
  handle: async ({ peopleImport }, { body, query, caller, actor, requestId, reason }) => {
    const { dryRun } = query;
    const administrator = isKeyCaller(caller) ? null : caller.email;
    const by = { actor, administrator, requestId, reason, dryRun };
    const { result, revision } = await peopleImport.run(body.people, by);
    return answer({ dryRun, ...result }, revision === null ? {} : { revision });
  },
});

export const peopleImportRoutes: readonly Route[] = [importPeople];
