/** A check whose status is the answer, for proxies that can read nothing else (docs/reference/decisions.md#the-status-as-the-answer). */

import { z } from 'zod';
import { validationFailed } from '../../base/errors.ts';
import { normalizeEmail } from '../../base/grammar.ts';
import { LEVEL_NAMES, SOURCE_NAMES } from '../../base/level-names.ts';
import { type CheckAnswer, RPCS } from '../../rpc/methods.ts';
import { REST } from '../../rpc/naming.ts';
import { levelField, permissionField, rawCheck, resourceFields } from '../questions/fields.ts';
import { Denial } from '../route/denial.ts';
import { noContent } from '../route/envelopes.ts';
import { AppParams } from '../route/fields.ts';
import { askedByProxy } from '../route/proxy-guard.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

/** Of this path and everything below it. */
const PATH = '/api/gateway/:appCode/check';

/** `userHeader` is the header by which a proxy with a key names the user. */
export function proxyCheckRoutes(userHeader: string): readonly Route[] {
  const naming = { ...REST, fields: { ...REST.fields, email: userHeader, app: 'appCode' } };
  return [
    defineRoute({
      method: 'get',
      everyMethod: true,
      path: PATH,
      operation: 'checkByStatus',
      tag: 'Checks',
      summary: 'Check by status',
      description: `For proxies that read only a status: 204 allowed, 403 denied, 401 without a user, 503 without an answer; 2xx is a yes and nothing else. Every method is answered alike, at this path and every path below it, and the body is not read. Answers about a person carry \`x-usher-email\`, \`x-usher-access-level\` and \`x-usher-source\`.`,
      guard: askedByProxy(userHeader),
      params: AppParams,
      concerns: 'path',
      query: z.strictObject({ permission: permissionField, ...resourceFields, accessLevel: levelField }),
      envelope: noContent,
      quiet: true,
      errors: ['INCOMPLETE_RESOURCE', 'UNKNOWN_CODE'],
      handle: ({ engine }, { caller, params, query, signal }) => {
        const { email, isAmbiguous } = caller;
        if (isAmbiguous) {
          throw validationFailed([
            { path: userHeader, message: 'must not be sent beside a bearer token: they may name two people' },
          ]);
        }
        const question = { ...rawCheck({ ...query, email, app: params.appCode }), minRevision: '' };
        const answered = RPCS.check.ask(engine, question, { naming, signal });
        const toAnswer = (said: CheckAnswer) => byStatus(said, headersOf(said, email));
        return answered instanceof Promise ? answered.then(toAnswer) : toAnswer(answered);
      },
    }),
  ];
}

function byStatus({ allowed, revision }: CheckAnswer, headers: Readonly<Record<string, string>>) {
  if (!allowed) throw new Denial('This user does not have the permission.', { ...headers, 'usher-revision': revision });
  return answer(undefined, { revision, headers });
}

/** For the proxy to pass on. What there is none of is left out. */
function headersOf({ decision }: CheckAnswer, email: string): Record<string, string> {
  const said = {
    'x-usher-email': normalizeEmail(email),
    'x-usher-access-level': LEVEL_NAMES[decision.level],
    'x-usher-source': SOURCE_NAMES[decision.source],
  };
  return Object.fromEntries(Object.entries(said).filter((entry): entry is [string, string] => entry[1] !== null));
}
