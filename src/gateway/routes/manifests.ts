/** A complete application as one file (docs/reference/command-line.md#manifests). */

import { z } from 'zod';
import { unknownApplication } from '../../administration/records.ts';
import { isApplicationCode } from '../../base/grammar.ts';
import type { ApplyOptions, Manifests } from '../../catalog/manifest/manifests.ts';
import { KINDS } from '../../catalog/manifest/steps.ts';
import { refuseOtherApplications } from '../../identity/api-keys.ts';
import { rawText } from '../route/bodies.ts';
import { IF_REVISION, Impact, readIfRevision } from '../route/dry-run.ts';
import {
  bare,
  JSON_TYPE,
  type JsonSchema,
  successData,
  successDataWithProgress,
  type ValueEnvelope,
} from '../route/envelopes.ts';
import { AppParams, flagParam } from '../route/fields.ts';
import { applicationLevel, open, superAdmin } from '../route/guards.ts';
import { DEADLINE_MS } from '../route/limits.ts';
import { isKeyCaller, orKey } from '../route/or-key.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Input, type Route } from '../route/route.ts';

const YAML_TYPES = ['application/yaml', 'text/yaml', 'application/x-yaml'] as const;

/** Loaded at its first use, so that a start does not wait for it. */
const manifestSchema = async (target: 'draft-7' | 'draft-2020-12'): Promise<JsonSchema> =>
  (await import('../../catalog/manifest/schema.ts')).manifestSchema(target);

const count = z.int().nonnegative();

const Change = record('ManifestChange', {
  action: z.enum(['create', 'change', 'remove']),
  kind: z.enum(KINDS),
  key: z.string().meta({
    description:
      'The code or the address; `email:role` of an assignment, `email:permission:resourceType:resourceId` of an override.',
  }),
  before: z.record(z.string(), z.unknown()).optional().meta({ description: 'Absent where the action is `create`.' }),
  after: z.record(z.string(), z.unknown()).optional().meta({ description: 'Absent where the action is `remove`.' }),
});

const PlanAnswer = record('ManifestPlan', {
  application: z.string(),
  dryRun: z.boolean(),
  prune: z.boolean(),
  summary: z
    .strictObject({ create: count, change: count, remove: count, keep: count })
    .meta({ description: 'The number of records created, changed, removed, and already as the manifest says.' }),
  assignmentsEnded: count.meta({ description: 'The number of removals that end a role that a person holds.' }),
  changes: z.array(Change).meta({ description: 'Every change; records that are kept are only counted.' }),
  ended: z
    .array(z.strictObject({ kind: z.enum(['admin', 'assignment', 'override']), key: z.string() }))
    .optional()
    .meta({ description: 'Grants of the manifest whose time is over: nothing is planned for them. Absent for none.' }),
});

const applyQuery = z.strictObject({
  dryRun: flagParam
    .default(false)
    .meta({ description: 'Return the plan and who would gain and lose by it, and change nothing.' }),
  prune: flagParam.default(false).meta({ description: 'Remove records that a present section does not name.' }),
});

const manifestBody = rawText([...YAML_TYPES, 'application/json'], 'manifest', async () => [
  'Manifest',
  await manifestSchema('draft-2020-12'),
]);

const ApplyAnswer = PlanAnswer.extend({
  result: PlanAnswer.optional().meta({
    description: 'With a dry run: the plan again, as in dry runs of all writes.',
  }),
  impact: Impact.optional().meta({ description: 'With a dry run: who would gain and who would lose.' }),
});

const APPLY_ERRORS = [
  'VALIDATION_FAILED',
  'UNKNOWN_LANGUAGES',
  'UNKNOWN_RESOURCE_TYPE',
  'INVALID_ACCESS_LEVEL',
  'GLOBAL_PERMISSION',
  'UNKNOWN_REFERENCE',
  'ENTITY_IN_USE',
  'TYPE_IN_USE',
  'SYSTEM_RECORD',
  'IMMUTABLE_FIELD',
  'STALE',
  'UPGRADE_UNFINISHED',
  'UNKNOWN_REVISION',
  'PAYLOAD_TOO_LARGE',
  'UNAVAILABLE',
] as const;

const EXAMPLE = {
  application: { code: 'billing', name: 'Billing' },
  permissions: [{ code: 'invoice.access', type: 'tiered' }],
  roles: [{ code: 'accountant', permissions: { 'invoice.access': 'edit' } }],
  assignments: [{ email: 'ann@example.com', roles: ['accountant'] }],
};

/** The part of a request that both routes take. */
type ApplyInput = Pick<
  Input<unknown, unknown, z.output<typeof applyQuery>, { text: string }, typeof IF_REVISION>,
  'query' | 'body' | 'header' | 'requestId' | 'reason' | 'signal' | 'progress'
>;

/** The route answers its dry runs itself. Refused ones leave no record (docs/reference/administration.md#dry-runs). */
function withOwnDryRun(route: Route): Route {
  return { ...route, rehearsal: { ...route, refusal: null, dear: true } };
}

async function apply(
  manifests: Pick<Manifests, 'apply'>,
  by: Pick<ApplyOptions, 'actor' | 'within' | 'refuseOther'>,
  { query, body, header, requestId, reason, signal, progress }: ApplyInput,
) {
  const { plan, revision, impact } = await manifests.apply(body.text, {
    ...by,
    dryRun: query.dryRun,
    prune: query.prune,
    ifRevision: readIfRevision(header(IF_REVISION)),
    requestId,
    reason,
    signal,
    onProgress: progress,
  });
  const shown = plan as z.output<typeof PlanAnswer>;
  return answer(impact === null ? shown : { ...shown, result: shown, impact }, { revision });
}

const applyManifest = defineRoute({
  method: 'post',
  path: '/api/manifests/apply',
  operation: 'applyManifest',
  tag: 'Manifests',
  summary: 'Apply a manifest',
  description: [
    'Compares the manifest with the application and carries out the difference in one transaction; applying it twice changes',
    'nothing. An absent section is left alone; records that a section does not name stay, unless `prune` is set. Every fault',
    'is reported at once: `details.issues` with `path`, `message`, `line` and `column`. With `Accept: application/x-ndjson`',
    'lines of `{"progress": {"done", "total"}}` come first. A key with the scope `manifest` may apply everything that a SuperAdmin may, to `auth` too.',
  ].join(' '),
  guard: orKey('manifest', superAdmin),
  // It is read once, by the one who carries it out.
  concerns: 'within',
  refusal: 'manifest.applied.refused',
  query: applyQuery,
  body: manifestBody,
  envelope: successDataWithProgress,
  headers: [IF_REVISION],
  response: ApplyAnswer,
  errors: APPLY_ERRORS,
  deadlineMs: DEADLINE_MS.manifest,
  example: { body: EXAMPLE },
  handle: ({ manifests }, input) => {
    const { caller } = input;
    if (!isKeyCaller(caller)) return apply(manifests, { actor: { email: caller.email } }, input);
    const { key, apps } = caller;
    const refuseOther = (app: string) => refuseOtherApplications({ name: key, apps }, [app]);
    return apply(manifests, { actor: { key }, refuseOther }, input);
  },
});

const applyOwnManifest = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/manifest',
  operation: 'applyOwnManifest',
  tag: 'Manifests',
  summary: 'Apply a manifest to its own application',
  description: [
    'As `POST /api/manifests/apply`, for the administrators of this application, who carry out at once what they may write',
    'singly. A manifest of another application is 400. One part that only a SuperAdmin may write (the type `auth_idp` and its',
    'templates) refuses the whole with 403. The application must exist.',
  ].join(' '),
  guard: applicationLevel('edit'),
  refusal: 'manifest.applied.refused',
  params: AppParams,
  query: applyQuery,
  body: manifestBody,
  envelope: successDataWithProgress,
  headers: [IF_REVISION],
  response: ApplyAnswer,
  errors: ['FORBIDDEN', 'NOT_FOUND', ...APPLY_ERRORS],
  deadlineMs: DEADLINE_MS.manifest,
  example: { body: EXAMPLE },
  handle: ({ manifests }, input) => {
    const { caller, params } = input;
    if (!isApplicationCode(params.appCode)) throw unknownApplication(params.appCode);
    return apply(manifests, { actor: { email: caller.email }, within: params.appCode }, input);
  },
});

/** YAML as it is; JSON in `successData`, where `Accept` prefers it. */
const manifestEnvelope: ValueEnvelope = {
  kind: 'value',
  name: 'manifest',
  media: ['application/yaml; charset=utf-8', JSON_TYPE],
  encode: (payload, media) => {
    const bytes = (payload as { manifest: Uint8Array }).manifest;
    if (media.startsWith('application/yaml')) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    return Buffer.concat([Buffer.from('{"success":true,"data":'), bytes, Buffer.from('}')]);
  },
  describe: (payload, media) =>
    media.startsWith('application/yaml')
      ? { type: 'string', description: 'The manifest as YAML.' }
      : successData.describe((payload.properties as Record<string, JsonSchema>).manifest ?? {}, media),
};

/** A named schema in the document: the input of `apply`, with every section. The handler has written it already. */
const ExportAnswer = z.strictObject({
  manifest: z.unknown().meta({ $ref: '#/components/schemas/Manifest' }),
});

const exportManifest = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/manifest',
  operation: 'exportManifest',
  tag: 'Manifests',
  summary: 'Export an application as a manifest',
  description:
    'The input of `POST /api/manifests/apply`: applied with `prune` it restores exactly this state. In a stable order.',
  guard: orKey('manifest', applicationLevel('view')),
  params: AppParams,
  concerns: 'path',
  envelope: manifestEnvelope,
  response: ExportAnswer,
  errors: ['NOT_FOUND'],
  deadlineMs: DEADLINE_MS.manifest,
  dear: 'while-reading',
  handle: async ({ manifests }, { params, media, signal }) => {
    const format = media.startsWith('application/yaml') ? 'yaml' : 'json';
    return { manifest: await manifests.export(params.appCode, format, signal) };
  },
});

const manifestJsonSchema = defineRoute({
  method: 'get',
  path: '/api/manifest.schema.json',
  operation: 'getManifestSchema',
  tag: 'Manifests',
  summary: 'The JSON Schema of a manifest',
  description: [
    'For editors, which complete and check a manifest with it, and for pipelines (draft 7). It knows the form of a manifest;',
    'only a dry run checks references and the present state. Exports name it in their first line:',
    '`# yaml-language-server: $schema=…`.',
  ].join(' '),
  guard: open,
  envelope: bare,
  response: z.looseObject({ title: z.string() }),
  cacheControl: 'public, max-age=300',
  handle: async () => (await manifestSchema('draft-7')) as { title: string },
});

export const manifestRoutes: readonly Route[] = [
  withOwnDryRun(applyManifest),
  withOwnDryRun(applyOwnManifest),
  exportManifest,
  manifestJsonSchema,
];
