/**
 * Dry runs of administrative writes (docs/reference/administration.md#dry-runs), once for all routes: with `?dryRun=true` the
 * route's own handler runs, and its answer is returned beside who would gain and who would lose.
 */

import { z } from 'zod';
import { DryRun } from '../../administration/dry-run.ts';
import { MAX_LISTED } from '../../administration/impact.ts';
import { parseRevision, unknownRevision } from '../../engine/question.ts';
import type { RevisionToken } from '../../engine/types.ts';
import { accessLevel } from '../questions/fields.ts';
import { successData } from './envelopes.ts';
import { flagParam, timestamp } from './fields.ts';
import { record } from './record.ts';
import { Answer, type Route } from './route.ts';

export const IF_REVISION = 'usher-if-revision';

const count = z.int().nonnegative();
const level = accessLevel.nullable();

/** Who gains and who loses access by a write. */
export const Impact = record('Impact', {
  revision: z
    .string()
    .meta({ description: `What this is true of: send it as \`${IF_REVISION}\` with the write itself.` }),
  people: count.meta({ description: 'How many people gain or lose something.' }),
  gained: count.meta({ description: 'How many decisions rise.' }),
  lost: count.meta({ description: 'How many decisions fall.' }),
  changes: z
    .array(
      z.strictObject({
        email: z.string(),
        app: z.string(),
        permission: z.string(),
        resourceType: z.string().nullable(),
        resourceId: z.string().nullable(),
        from: level,
        to: level,
      }),
    )
    .max(MAX_LISTED)
    .meta({ description: `The first ${MAX_LISTED}, by e-mail, then permission. Null levels: nothing is held.` }),
  truncated: z.boolean().meta({ description: 'Whether there are more changes than are listed. The counts are exact.' }),
  nextBoundary: timestamp.nullable().meta({
    description:
      'When the next grant begins or ends of the people concerned, in the applications compared, what the write gives among them; null: never.',
  }),
  everywhere: z.enum(['gains', 'loses']).nullable().optional().meta({
    description:
      'For a write about a person in all applications: the effect in every application where they have no role, override or administration.',
  }),
});

/** Of a write that answers nothing. Generators have no type whose one value is null. */
const nothing = z.null().meta({ type: ['object', 'null'], description: 'Null: the write answers nothing.' });

const query = {
  dryRun: flagParam.optional().meta({
    description:
      'True: nothing is written. The answer is 200 with `result`, the answer of the write, and `impact`, who would gain and who would lose.',
  }),
};

/** The route with its dry run: `route.rehearsal` answers `?dryRun=true`. */
export function withDryRun(route: Route): Route {
  const extended = {
    ...route,
    query: route.query instanceof z.ZodObject ? route.query.extend(query) : z.strictObject(query),
    headers: [...route.headers, IF_REVISION] as const,
    errors: [...new Set([...route.errors, 'STALE', 'UNKNOWN_REVISION'] as const)],
  };
  const handle: Route['handle'] = (services, input) => {
    input.ifRevision = readIfRevision(input.header(IF_REVISION));
    return route.handle(services, input);
  };
  const rehearsal: Route = {
    ...extended,
    envelope: successData,
    statuses: [200],
    response: z.strictObject({ result: route.response ?? nothing, impact: Impact }),
    // A dry run is a question: a refused one does not count as an attempt to write.
    refusal: null,
    dear: true,
    handle: async (services, input) => {
      const dryRun = new DryRun();
      input.dryRun = dryRun;
      const answered = await handle(services, input);
      const payload = answered instanceof Answer ? answered.payload : answered;
      const { impact } = dryRun;
      return new Answer({ result: payload ?? null, impact }, { revision: impact.revision });
    },
  };
  const write: Route['handle'] = (services, input) => {
    // If two readers of the query ever disagree, the write must not be carried out.
    if ((input.query as { dryRun?: boolean }).dryRun === true) throw new Error('a dry run was taken for the write');
    return handle(services, input);
  };
  return { ...extended, handle: write, rehearsal };
}

/** Throws UNKNOWN_REVISION for a revision that this service never issued: a caller that sends the header depends on it. */
export function readIfRevision(header: string | undefined): RevisionToken | undefined {
  if (header === undefined) return undefined;
  if (header === '') throw unknownRevision();
  return parseRevision(header);
}

/** Whether the query of a request requests a dry run. The schema reports any other fault of it. */
export function asksForDryRun(url: string): boolean {
  const at = url.indexOf('?');
  return at >= 0 && new URLSearchParams(url.slice(at)).get('dryRun') === 'true';
}
