/** Templates of notification types (docs/reference/notifications.md#templates). */

import { z } from 'zod';
import { OPTIONAL_PART_DESCRIPTIONS, OPTIONAL_PARTS, recordOf, TEMPLATE_PARTS } from '../../base/channels.ts';
import type { Rendered } from '../../notifications/render.ts';
import { TESTS_A_MINUTE } from '../../notifications/template-tests.ts';
import { AppParams, freeObject, id, idParam, languageCode, readOnly, slug, text, timestamp } from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route, removed, written } from '../route/route.ts';

const Template = record('Template', {
  id,
  notificationTypeId: id,
  type: z.string().meta({ description: "The type's code." }),
  key: z.string(),
  locale: z.string(),
  subject: z.string(),
  html: z.string(),
  ...recordOf(OPTIONAL_PARTS, () => z.string().nullable()),
  requiredVariables: z.array(z.string()),
  createdAt: timestamp,
  updatedAt: timestamp,
});

const variable = text(128).refine((value) => value.trim() !== '', 'must not be empty');

const parts = {
  subject: text(TEMPLATE_PARTS.subject).refine((value) => value.trim() !== '', 'must not be empty'),
  html: text(TEMPLATE_PARTS.html),
  ...recordOf(OPTIONAL_PARTS, (part) => {
    const schema = text(TEMPLATE_PARTS[part]).nullable().optional();
    return schema.meta({ description: OPTIONAL_PART_DESCRIPTIONS[part] });
  }),
  requiredVariables: z
    .array(variable)
    .max(100)
    .refine((all) => new Set(all).size === all.length, 'must name each variable once')
    .optional()
    .meta({ description: 'Members that the payload of a send must have; `order.id` names a nested one.' }),
};

const TemplateParams = z.strictObject({ ...AppParams.shape, id: idParam });
const PATH = '/api/applications/:appCode/templates';

const listTemplates = defineRoute({
  method: 'get',
  path: PATH,
  operation: 'listTemplates',
  tag: 'Notifications',
  summary: 'All templates of an application',
  guard: applicationLevel('view'),
  params: AppParams,
  response: z.array(Template),
  errors: ['NOT_FOUND'],
  handle: ({ templates }, { params }) => templates.list(params.appCode),
});

const createTemplate = defineRoute({
  method: 'post',
  path: PATH,
  operation: 'createTemplate',
  tag: 'Notifications',
  summary: 'Create a template',
  description:
    'Liquid: output is escaped in `html` and nowhere else; there are no partials and no files. A part that does not parse is refused with its line and column.',
  guard: applicationLevel('edit'),
  refusal: 'template.created.refused',
  params: AppParams,
  body: z
    .strictObject({
      notificationTypeId: id.optional(),
      type: slug.optional().meta({ description: "The type's code, instead of its id." }),
      key: slug.optional().meta({ description: 'Default: `default`.' }),
      locale: languageCode.meta({ description: 'A language of the registry.' }),
      ...parts,
    })
    .refine(({ notificationTypeId, type }) => notificationTypeId !== undefined || type !== undefined, {
      path: ['notificationTypeId'],
      message: 'is required',
    }),
  limit: 'list',
  status: 201,
  response: Template,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'UNKNOWN_REFERENCE', 'UNKNOWN_LANGUAGES'],
  example: {
    body: {
      notificationTypeId: 3,
      locale: 'en',
      subject: 'Invoice {{ number }}',
      html: '<p>Dear {{ user.firstName }}, invoice {{ number }} is due.</p>',
      requiredVariables: ['number'],
    },
  },
  handle: async ({ templates }, input) => {
    const { appCode } = input.params;
    const { result, revision } = await templates.create(appCode, input.body, input);
    return answer(result, { revision, location: `/api/applications/${appCode}/templates/${result.id}` });
  },
});

const changeTemplate = defineRoute({
  method: 'put',
  path: `${PATH}/:id`,
  operation: 'updateTemplate',
  tag: 'Notifications',
  summary: 'Change a template',
  guard: applicationLevel('edit'),
  refusal: 'template.changed.refused',
  params: TemplateParams,
  body: z.strictObject({
    ...parts,
    notificationTypeId: id.optional(),
    type: slug.optional().meta({ description: 'The code of another type moves the template there, as its id does.' }),
    key: slug.optional().meta({ description: 'Cannot be changed; only the current one may be sent.' }),
    locale: languageCode.optional(),
    subject: parts.subject.optional(),
    html: parts.html.optional(),
    id: readOnly,
    createdAt: readOnly,
    updatedAt: readOnly,
  }),
  limit: 'list',
  response: Template,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'UNKNOWN_REFERENCE', 'UNKNOWN_LANGUAGES', 'IMMUTABLE_FIELD'],
  example: { body: { subject: 'Invoice {{ number }} is due', requiredVariables: ['number'] } },
  handle: async ({ templates }, input) => {
    const { appCode, id: template } = input.params;
    return written(await templates.change(appCode, template, input.body, input));
  },
});

const deleteTemplate = defineRoute({
  method: 'delete',
  path: `${PATH}/:id`,
  operation: 'deleteTemplate',
  tag: 'Notifications',
  summary: 'Delete a template',
  guard: applicationLevel('edit'),
  refusal: 'template.deleted.refused',
  params: TemplateParams,
  errors: ['NOT_FOUND'],
  handle: async ({ templates }, input) => removed(await templates.delete(input.params.appCode, input.params.id, input)),
});

const Preview = record('TemplatePreview', {
  subject: z.string(),
  html: z.string(),
  text: z.string(),
  push: z.strictObject({ title: z.string(), body: z.string() }),
});

const previewFields = {
  payload: freeObject.optional(),
  brand: slug.optional().meta({ description: "The slug of a brand; default: the caller's." }),
};

function toPreview({ subject, html, text: plain, pushTitle, pushBody }: Rendered): z.output<typeof Preview> {
  return { subject, html, text: plain, push: { title: pushTitle ?? subject, body: pushBody ?? plain } };
}

const previewDraft = defineRoute({
  method: 'post',
  path: `${PATH}/preview`,
  operation: 'previewNewTemplate',
  tag: 'Notifications',
  summary: 'Preview a template that is not stored',
  description: [
    'As the preview of a stored template. The body may hold every field of a template beside the payload, so that an editor',
    'sends what it edits; type, key and `requiredVariables` change nothing, but a type or language that does not exist is refused. A part that does not parse is refused with its line and column.',
  ].join(' '),
  guard: applicationLevel('view'),
  params: AppParams,
  body: z.strictObject({
    ...parts,
    ...previewFields,
    locale: languageCode
      .optional()
      .meta({ description: 'The language of the template, and the variable `locale`; default: `en`.' }),
    notificationTypeId: id.optional(),
    type: slug.optional(),
    key: slug.optional(),
    id: readOnly,
    createdAt: readOnly,
    updatedAt: readOnly,
  }),
  limit: 'list',
  response: Preview,
  errors: ['NOT_FOUND', 'UNKNOWN_REFERENCE', 'UNKNOWN_LANGUAGES', 'UNPROCESSABLE'],
  example: {
    body: { locale: 'en', subject: 'Invoice {{ number }}', html: '<p>It is due.</p>', payload: { number: '2026-17' } },
  },
  handle: async ({ templates }, { params, body, caller, signal }) =>
    toPreview(await templates.previewDraft(params.appCode, body, body, caller.email, signal)),
});

const previewTemplate = defineRoute({
  method: 'post',
  path: `${PATH}/:id/preview`,
  operation: 'previewTemplate',
  tag: 'Notifications',
  summary: 'Preview a template',
  description:
    'Renders it for the caller with this payload; variables that the payload lacks are empty. Nothing is sent or stored.',
  guard: applicationLevel('view'),
  params: TemplateParams,
  body: z.strictObject({
    ...previewFields,
    locale: languageCode
      .optional()
      .meta({ description: 'The variable `locale`; default: the language of the template.' }),
  }),
  limit: 'list',
  response: Preview,
  errors: ['NOT_FOUND', 'UNKNOWN_REFERENCE', 'UNPROCESSABLE'],
  example: { body: { payload: { number: '2026-17' } } },
  handle: async ({ templates }, { params, body, caller, signal }) =>
    toPreview(await templates.preview(params.appCode, params.id, body, caller.email, signal)),
});

const testTemplate = defineRoute({
  method: 'post',
  path: `${PATH}/:id/test`,
  operation: 'sendTestTemplate',
  tag: 'Notifications',
  summary: 'Send a template to oneself',
  description: [
    "Renders it as the preview does and sends one mail to the caller, through the mail server of the caller's brand, else of the",
    'default one. Answers what the server said. No preferences count, and the mail has no unsubscribe link. At most',
    `${TESTS_A_MINUTE} a minute and caller (429).`,
  ].join(' '),
  guard: applicationLevel('edit'),
  refusal: 'template.tested.refused',
  params: TemplateParams,
  body: z.strictObject({ payload: freeObject.optional() }).optional(),
  limit: 'list',
  response: z.strictObject({
    sent: z.literal(true),
    to: z.string(),
    smtp: z.strictObject({ response: z.string() }),
  }),
  errors: ['NOT_FOUND', 'FORBIDDEN', 'UNPROCESSABLE', 'SMTP_FAILED'],
  example: { body: { payload: { number: '2026-17' } } },
  deadlineMs: 30_000,
  handle: async ({ templateTests }, input) => {
    const { appCode, id: template } = input.params;
    const { response } = await templateTests.send(appCode, template, input.body?.payload ?? {}, input, input.signal);
    return { sent: true as const, to: input.caller.email, smtp: { response } };
  },
});

export const templateRoutes: readonly Route[] = [
  listTemplates,
  createTemplate,
  changeTemplate,
  deleteTemplate,
  previewDraft,
  previewTemplate,
  testTemplate,
];
