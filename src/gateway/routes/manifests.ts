/** A whole application as one file (docs/reference/command-line.md#manifests). */

import { z } from 'zod';
import { UsherError } from '../../base/errors.ts';
import { isApplicationCode } from '../../base/grammar.ts';
import { KINDS } from '../../catalog/manifest/steps.ts';
import { accessLevel } from '../questions/fields.ts';
import { rawText } from '../route/bodies.ts';
import {
  JSON_TYPE,
  type JsonSchema,
  successData,
  successDataWithProgress,
  type ValueEnvelope,
} from '../route/envelopes.ts';
import { applicationLevel, superAdmin } from '../route/guards.ts';
import { DEADLINE_MS } from '../route/limits.ts';
import { isKeyCaller, orKey } from '../route/or-key.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

const YAML_TYPES = ['application/yaml', 'text/yaml', 'application/x-yaml'] as const;

const count = z.int().nonnegative();

const Change = z.strictObject({
  action: z.enum(['create', 'change', 'remove']),
  kind: z.enum(KINDS),
  key: z.string().meta({
    description:
      'The code or the address; `email:role` of an assignment, `email:permission:resourceType:resourceId` of an override.',
  }),
  before: z.record(z.string(), z.unknown()).optional().meta({ description: 'Absent where the action is `create`.' }),
  after: z.record(z.string(), z.unknown()).optional().meta({ description: 'Absent where the action is `remove`.' }),
});

const PlanAnswer = z.strictObject({
  application: z.string(),
  dryRun: z.boolean(),
  prune: z.boolean(),
  summary: z
    .strictObject({ create: count, change: count, remove: count, keep: count })
    .meta({ description: 'How many things are made, changed, removed, and named by the manifest but already so.' }),
  assignmentsEnded: count.meta({ description: 'How many of the removals end a role that a person holds.' }),
  changes: z.array(Change).meta({ description: 'Everything but what is kept.' }),
});

const flag = z.enum(['true', 'false']).default('false');

const applyManifest = defineRoute({
  method: 'post',
  path: '/api/manifests/apply',
  tag: 'Manifests',
  summary: 'Make an application what a manifest says',
  description: [
    'Compares the manifest with what is there and carries the difference out in one transaction; applying it twice changes',
    'nothing. A section that is absent is left alone; what a section does not name stays, unless `prune` is set. Every fault',
    'is reported at once: `details.issues` with `path`, `message`, `line` and `column`. With `Accept: application/x-ndjson`',
    'lines of `{"progress": {"done", "total"}}` come first. A key with the scope `manifest` may apply what a SuperAdmin may, to `auth` too.',
  ].join(' '),
  guard: orKey('manifest', superAdmin),
  refusal: 'manifest.applied.refused',
  query: z.strictObject({
    dryRun: flag.meta({ description: 'Answer the plan and change nothing.' }),
    prune: flag.meta({ description: 'Remove what a present section does not name.' }),
  }),
  body: rawText([...YAML_TYPES, 'application/json'], 'manifest'),
  envelope: successDataWithProgress,
  status: 200,
  response: PlanAnswer,
  errors: [
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
    'PAYLOAD_TOO_LARGE',
    'UNAVAILABLE',
  ],
  deadlineMs: DEADLINE_MS.manifest,
  example: {
    body: {
      application: { code: 'billing', name: 'Billing' },
      permissions: [{ code: 'invoice.access', type: 'tiered' }],
      roles: [{ code: 'accountant', permissions: { 'invoice.access': 'edit' } }],
      assignments: [{ email: 'ann@example.com', roles: ['accountant'] }],
    },
  },
  handle: async ({ manifests }, { caller, query, body, requestId, signal, progress }) => {
    const { plan, revision } = await manifests.apply(body.text, {
      actor: isKeyCaller(caller) ? caller : { email: caller.email },
      dryRun: query.dryRun === 'true',
      prune: query.prune === 'true',
      requestId,
      signal,
      onProgress: progress,
    });
    return answer(plan as z.output<typeof PlanAnswer>, revision === undefined ? {} : { revision });
  },
});

/** YAML as it is; JSON in `successData`, where `Accept` prefers it. */
const manifestEnvelope: ValueEnvelope = {
  kind: 'value',
  name: 'manifest',
  media: ['application/yaml; charset=utf-8', JSON_TYPE],
  encode: (payload, media) => {
    const { manifest, yaml } = payload as z.output<typeof ExportAnswer>;
    return media.startsWith('application/yaml') ? yaml : String(successData.encode(manifest, media));
  },
  describe: (payload, media) =>
    media.startsWith('application/yaml')
      ? { type: 'string', description: 'The manifest as YAML.' }
      : successData.describe((payload.properties as Record<string, JsonSchema>).manifest ?? {}, media),
};

const named = <T extends z.ZodRawShape>(shape: T) => z.array(z.strictObject({ code: z.string(), ...shape }));
const description = z.string().optional();

const ManifestAnswer = z.strictObject({
  application: z.strictObject({
    code: z.string(),
    name: z.string(),
    description,
    supportedLanguages: z.array(z.string()).optional(),
    strictCodes: z.literal(true).optional(),
  }),
  entities: named({
    name: z.string(),
    description,
    idLabel: z.string().optional(),
    listEndpoint: z.string().optional(),
  }),
  permissions: named({
    type: z.enum(['binary', 'tiered']),
    description,
    groupName: z.string().optional(),
    parent: z.string().optional(),
    global: z.literal(true).optional(),
  }),
  roles: named({ description, permissions: z.record(z.string(), accessLevel) }),
  notificationTypes: named({
    name: z.string(),
    description,
    emailEnabled: z.literal(false).optional(),
    pushEnabled: z.literal(false).optional(),
    userCanDisable: z.literal(false).optional(),
    defaultEmail: z.literal(false).optional(),
    defaultPush: z.literal(false).optional(),
    selfServiceEnabled: z.literal(false).optional(),
    system: z.literal(true).optional(),
    emailFromName: z.string().optional(),
  }),
  templates: z.array(
    z.strictObject({
      type: z.string(),
      key: z.string().optional(),
      locale: z.string(),
      subject: z.string(),
      html: z.string(),
      text: z.string().optional(),
      pushTitle: z.string().optional(),
      pushBody: z.string().optional(),
      url: z.string().optional(),
      requiredVariables: z.array(z.string()).optional(),
    }),
  ),
  admins: z.array(z.string()),
  assignments: z.array(z.strictObject({ email: z.string(), roles: z.array(z.string()) })),
  overrides: z.array(
    z.strictObject({
      email: z.string(),
      resourceType: z.string(),
      resourceId: z.string(),
      permission: z.string(),
      granted: z.boolean(),
      accessLevel: accessLevel.optional(),
    }),
  ),
});

const ExportAnswer = z.strictObject({ manifest: ManifestAnswer, yaml: z.string() });

const exportManifest = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/manifest',
  tag: 'Manifests',
  summary: 'The application as a manifest',
  description:
    'What `POST /api/manifests/apply` takes: applied with `prune` it brings exactly this state about. In a stable order.',
  guard: orKey('manifest', applicationLevel('view')),
  params: z.strictObject({ appCode: z.string() }),
  envelope: manifestEnvelope,
  status: 200,
  response: ExportAnswer,
  errors: ['NOT_FOUND'],
  deadlineMs: DEADLINE_MS.manifest,
  handle: async ({ manifests }, { params }) => {
    if (!isApplicationCode(params.appCode)) throw new UsherError('NOT_FOUND', 'There is no such application.');
    return (await manifests.export(params.appCode)) as z.output<typeof ExportAnswer>;
  },
});

export const manifestRoutes: readonly Route[] = [applyManifest, exportManifest];
