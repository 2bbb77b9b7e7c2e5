/** Each application as a policy decision point of the OpenID Authorization API 1.0 (docs/reference/authzen.md). */

import { askEvaluation, askEvaluations, searchActions, searchResources, searchSubjects } from '../authzen/ask.ts';
import {
  ActionResults,
  ActionSearch,
  DecisionResponse,
  EvaluationRequest,
  EvaluationsRequest,
  EvaluationsResponse,
  Metadata,
  ResourceResults,
  ResourceSearch,
  SubjectResults,
  SubjectSearch,
} from '../authzen/messages.ts';
import { bare } from '../route/envelopes.ts';
import { AppParams } from '../route/fields.ts';
import { keyOrBearer } from '../route/or-key.ts';
import { defineRoute, type Route } from '../route/route.ts';

/** What all questions have in common. */
const question = {
  method: 'post',
  tag: 'AuthZEN',
  guard: keyOrBearer('check'),
  params: AppParams,
  concerns: 'path',
  headers: ['usher-min-revision'],
  envelope: bare,
  quiet: true,
  anyRequestId: true,
} as const;

const BEN = { type: 'user', id: 'ben@example.com' } as const;
const EDIT = { name: 'project.access', properties: { accessLevel: 'edit' } } as const;
const ARCHIVE = { name: 'project.archive' } as const;
const PROJECT = { type: 'project', id: '1042' } as const;
const REVISION = '184';
const YES = {
  decision: true,
  context: { source: 'role' as const, access_level: 'edit' as const, revision: REVISION },
};

const evaluation = defineRoute({
  ...question,
  path: '/authzen/:appCode/access/v1/evaluation',
  operation: 'evaluate',
  summary: 'Evaluate one request',
  description:
    "Whether the subject may do the action to the resource: a check of the application that the path names. `{type: usher:application, id: <the application's code>}` asks without a record. An error is not a decision: treat the subject as denied.",
  body: EvaluationRequest,
  response: DecisionResponse,
  errors: ['UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: { body: { subject: BEN, action: EDIT, resource: PROJECT }, response: YES },
  handle: (services, input) => askEvaluation(services, input.params.appCode, input.body, input),
});

const evaluations = defineRoute({
  ...question,
  path: '/authzen/:appCode/access/v1/evaluations',
  operation: 'evaluateAll',
  summary: 'Evaluate several requests',
  description:
    'Decisions of one revision, in the order of the requests. The members beside `evaluations` are defaults, which an evaluation replaces whole. A malformed evaluation refuses the whole call and is named (`evaluations.3.resource.id`).',
  body: EvaluationsRequest,
  limit: 'list',
  response: EvaluationsResponse,
  errors: ['UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: {
      subject: BEN,
      resource: PROJECT,
      evaluations: [{ action: EDIT }, { action: { name: 'invoice.access' } }],
      options: { evaluations_semantic: 'execute_all' },
    },
    response: {
      evaluations: [YES, { decision: false, context: { source: null, access_level: null, revision: REVISION } }],
    },
  },
  handle: (services, input) => askEvaluations(services, input.params.appCode, input.body, input),
});

const PAGED = 'A page may hold fewer than its limit: only an empty `next_token` ends the results.';

const subjects = defineRoute({
  ...question,
  path: '/authzen/:appCode/access/v1/search/subject',
  operation: 'searchSubjects',
  summary: 'Search the users who may do something',
  description: `Everybody for whom an evaluation of the same request says yes, in the form of the type: accounts for \`identity\` (\`authzen.accountTypes\`), addresses for the others. ${PAGED}`,
  body: SubjectSearch,
  response: SubjectResults,
  errors: ['UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { subject: { type: 'user' }, action: ARCHIVE, resource: PROJECT, page: { limit: 100 } },
    response: {
      page: { next_token: '', count: 4 },
      context: { revision: REVISION },
      results: ['admin', 'ada', 'ben', 'nora'].map((name) => ({ type: 'user', id: `${name}@example.com` })),
    },
  },
  dear: true,
  handle: (services, input) => searchSubjects(services, input.params.appCode, input.body, input),
});

const resources = defineRoute({
  ...question,
  path: '/authzen/:appCode/access/v1/search/resource',
  operation: 'searchResources',
  summary: 'Search the records that a user can reach',
  description: `Every record of the type for which an evaluation of the same request says yes. 400 UNBOUNDED where these are all but some, as with a permission held by role. ${PAGED}`,
  body: ResourceSearch,
  response: ResourceResults,
  errors: ['UNKNOWN_REVISION', 'UNKNOWN_CODE', 'UNBOUNDED', 'LIST_CHANGED'],
  example: {
    body: { subject: BEN, action: ARCHIVE, resource: { type: 'project' } },
    response: { page: { next_token: '', count: 1 }, context: { revision: REVISION }, results: [PROJECT] },
  },
  dear: true,
  handle: (services, input) => searchResources(services, input.params.appCode, input.body, input),
});

const actions = defineRoute({
  ...question,
  path: '/authzen/:appCode/access/v1/search/action',
  operation: 'searchActions',
  summary: 'Search what a user may do to a record',
  description: 'The permissions of the application that the subject holds for the resource, at any level, in one page.',
  body: ActionSearch,
  response: ActionResults,
  errors: ['UNKNOWN_REVISION', 'UNKNOWN_CODE'],
  example: {
    body: { subject: BEN, resource: PROJECT },
    response: {
      page: { next_token: '', count: 3 },
      context: { revision: REVISION },
      results: [{ name: 'document.access' }, { name: 'project.access' }, { name: 'project.archive' }],
    },
  },
  handle: (services, input) => searchActions(services, input.params.appCode, input.body, input),
});

const metadata = defineRoute({
  method: 'get',
  path: '/.well-known/authzen-configuration/authzen/:appCode',
  operation: 'getAuthzenConfiguration',
  tag: 'AuthZEN',
  summary: 'Read where a policy decision point has its endpoints',
  description: 'Built from `publicUrl`. 404 for an application that does not exist.',
  guard: keyOrBearer('check'),
  params: AppParams,
  concerns: 'path',
  envelope: bare,
  response: Metadata,
  errors: ['NOT_FOUND'],
  anyRequestId: true,
  cacheControl: 'private, max-age=300',
  handle: async ({ applications, publicUrl }, { params }) => {
    const { appCode } = params;
    await applications.get(appCode);
    const point = `${publicUrl()}/authzen/${appCode}`;
    const access = `${point}/access/v1`;
    return {
      policy_decision_point: point,
      access_evaluation_endpoint: `${access}/evaluation`,
      access_evaluations_endpoint: `${access}/evaluations`,
      search_subject_endpoint: `${access}/search/subject`,
      search_resource_endpoint: `${access}/search/resource`,
      search_action_endpoint: `${access}/search/action`,
    };
  },
});

export const authzenRoutes: readonly Route[] = [evaluation, evaluations, subjects, resources, actions, metadata];
