/**
 * Bodies of the OpenID Authorization API 1.0 (docs/reference/authzen.md). Members outside the standard are ignored, as it
 * requires. `context` and `properties` are ignored too, except for the level of an action: decisions depend on stored data only.
 */

import { z } from 'zod';
import { LIMITS } from '../../base/grammar.ts';
import { membersOf } from '../../base/members.ts';
import { RESOURCES_PAGE, SUBJECTS_PAGE } from '../../rpc/lists.ts';
import { CheckResult, levelField } from '../questions/fields.ts';
import { freeObject } from '../route/fields.ts';

const present = (description: string) => z.string().min(1, 'must not be empty').meta({ description });

const properties = freeObject.nullish().meta({ description: 'Read, and not used.' });
const context = freeObject.nullish().meta({ description: 'Accepted and ignored: decisions do not depend on it.' });

const subjectType = present(
  '`user` or `identity` (`authzen.subjectTypes`). A subject of another type is denied, and no search finds it.',
);
const subjectId = present(
  "The user's e-mail address; without an @ the `sub` of the user's account at the issuer of tokens.",
);
const resourceType = present(
  'The type of the record; `usher:application` with the code of the application as id means no record. `application` means the same in an application without an entity of that name.',
);
const actionProperties = z
  .object({ accessLevel: levelField })
  .nullish()
  .meta({ description: 'All but `accessLevel` is not used.' });

const Subject = z.object({ type: subjectType, id: subjectId, properties });
const Action = z.object({ name: present("The permission's code."), properties: actionProperties });
const Resource = z.object({ type: resourceType, id: present('The identifier of the record.'), properties });

const evaluation = { subject: Subject, action: Action, resource: Resource };

/** One question. */
export const EvaluationRequest = z.object({ ...evaluation, context });
export type Evaluation = Omit<z.output<typeof EvaluationRequest>, 'context'>;

/** The decision with which a list of decisions ends early, by the standard's name of the semantic. */
export const SEMANTICS = { execute_all: null, deny_on_first_deny: false, permit_on_first_permit: true } as const;
export type Semantic = keyof typeof SEMANTICS;

/** A default may be incomplete if every evaluation has its own member: clients then send `resource: {}`. */
const defaults = {
  subject: Subject.partial().nullish(),
  action: Action.partial().nullish(),
  resource: Resource.partial().nullish(),
};

const Item = z.object({
  subject: Subject.nullish(),
  action: Action.nullish(),
  resource: Resource.nullish(),
  context,
});

export interface Evaluations {
  readonly questions: readonly Evaluation[];
  /** Null if the request has no evaluations and is itself one question. */
  readonly semantic: Semantic | null;
}

/** Several questions with their defaults, or one question. An entity replaces a default as a whole, without merging. */
export const EvaluationsRequest = z
  .object({
    ...defaults,
    context,
    evaluations: z
      .array(Item)
      .max(LIMITS.batchChecks)
      .nullish()
      .meta({ description: `At most ${LIMITS.batchChecks}. Without any, the request is a single evaluation.` }),
    options: z
      .object({
        evaluations_semantic: z
          .enum(Object.keys(SEMANTICS) as [Semantic, ...Semantic[]])
          .nullish()
          .meta({
            description: 'Whether the list ends with the first denial, or the first permit; `execute_all` without it.',
          }),
      })
      .nullish(),
  })
  .transform((body, issues): Evaluations => {
    const wholes = new Defaults(body, issues);
    const items = body.evaluations ?? [];
    const isSingle = items.length === 0;
    const questions = (isSingle ? [{}] : items).map((item: z.output<typeof Item>, index) => ({
      subject: item.subject ?? wholes.take('subject', isSingle ? null : index),
      action: item.action ?? wholes.take('action', isSingle ? null : index),
      resource: item.resource ?? wholes.take('resource', isSingle ? null : index),
    }));
    // Incomplete only if there are issues, and then it is not used.
    return {
      questions: questions as Evaluation[],
      semantic: isSingle ? null : (body.options?.evaluations_semantic ?? 'execute_all'),
    };
  });

type Member = keyof typeof evaluation;
type DefaultBody = { readonly [M in Member]?: z.output<(typeof defaults)[M]> };

/** The defaults of a request, and the issues of those that are used. */
class Defaults {
  readonly #body: DefaultBody;
  readonly #issues: z.RefinementCtx;
  readonly #seen = new Set<Member>();

  constructor(body: DefaultBody, issues: z.RefinementCtx) {
    this.#body = body;
    this.#issues = issues;
  }

  /** Returns a default and reports it if incomplete. `index` is the evaluation that needs it, null for a single question. */
  take(member: Member, index: number | null): unknown {
    const value = this.#body[member] ?? undefined;
    if (value === undefined && index !== null) {
      this.#add(['evaluations', index, member], 'is required: here, or as a default beside `evaluations`');
    } else if (!this.#seen.has(member)) {
      this.#seen.add(member);
      if (value === undefined) this.#add([member], 'is required');
      else this.#complete(member, value);
    }
    return value;
  }

  #complete(member: Member, value: object): void {
    const required = member === 'action' ? ['name'] : ['type', 'id'];
    for (const field of required) {
      if (membersOf(value)[field] === undefined) this.#add([member, field], 'is required');
    }
  }

  #add(path: (string | number)[], message: string): void {
    this.#issues.addIssue({ code: 'custom', path, message });
  }
}

function pageField(sizes: { most: number; usual: number } | null) {
  const size =
    sizes === null
      ? 'The answer is always complete.'
      : `The most results of a page: at most ${sizes.most}, by default ${sizes.usual}.`;
  return z
    .object({
      token: z
        .string()
        .min(1, 'must not be empty: an empty next_token says that there is no next page')
        .nullish()
        .meta({ description: 'The `next_token` of the previous page of the same question.' }),
      limit: z.int().min(1).nullish().meta({ description: size }),
      properties,
    })
    .nullish();
}

export type PageRequest = z.output<ReturnType<typeof pageField>>;

/** Subject search: who can? An id of the subject is ignored. */
export const SubjectSearch = z.object({
  subject: z.object({ type: subjectType }),
  action: Action,
  resource: Resource,
  context,
  page: pageField(SUBJECTS_PAGE),
});

/** Resource search: which resources can the subject reach? An id of the resource is ignored. */
export const ResourceSearch = z.object({
  subject: Subject,
  action: Action,
  resource: z.object({ type: present('The type of the records.') }),
  context,
  page: pageField(RESOURCES_PAGE),
});

/** Action search: what can the subject do with the resource? */
export const ActionSearch = z.object({ subject: Subject, resource: Resource, context, page: pageField(null) });

const revision = z.string().meta({ description: 'The revision of the answer; also in the header `usher-revision`.' });

export const DecisionResponse = z.object({
  decision: z.boolean(),
  context: z.object({
    source: CheckResult.shape.source,
    access_level: CheckResult.shape.accessLevel,
    revision,
  }),
});

export const EvaluationsResponse = z.union([
  z.object({ evaluations: z.array(DecisionResponse) }),
  DecisionResponse.meta({ description: 'To a request without `evaluations`.' }),
]);

function searchResponse<T extends z.ZodType>(result: T) {
  return z.object({
    page: z.object({
      next_token: z.string().meta({ description: 'The `page.token` of the next request; empty on the last page.' }),
      count: z.int(),
    }),
    context: z.object({ revision }),
    results: z.array(result),
  });
}

export const SubjectResults = searchResponse(z.object({ type: z.string(), id: z.string() }));
export const ResourceResults = searchResponse(z.object({ type: z.string(), id: z.string() }));
export const ActionResults = searchResponse(z.object({ name: z.string() }));

const endpoint = z.string();

export const Metadata = z.object({
  policy_decision_point: endpoint,
  access_evaluation_endpoint: endpoint,
  access_evaluations_endpoint: endpoint,
  search_subject_endpoint: endpoint,
  search_resource_endpoint: endpoint,
  search_action_endpoint: endpoint,
});
