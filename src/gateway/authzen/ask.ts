/** AuthZEN's requests as questions of Usher, and the answers in its words (docs/reference/authzen.md). */

import type { z } from 'zod';
import { certain } from '../../base/certain.ts';
import { UsherError } from '../../base/errors.ts';
import { LEVEL_NAMES, SOURCE_NAMES } from '../../base/level-names.ts';
import { notACursor } from '../../engine/lists.ts';
import { isAllowed } from '../../engine/question.ts';
import type { Decision } from '../../engine/types.ts';
import type { Call, CheckFields, Naming } from '../../rpc/call.ts';
import { RESOURCES_PAGE, SUBJECTS_PAGE } from '../../rpc/lists.ts';
import { RPCS } from '../../rpc/methods.ts';
import { type Asking, withRevision } from '../questions/ask.ts';
import { askedLevel } from '../questions/fields.ts';
import { type Answer, answer } from '../route/route.ts';
import type { Services } from '../services.ts';
import {
  type ActionSearch,
  type DecisionResponse,
  type Evaluation,
  type Evaluations,
  type PageRequest,
  type ResourceSearch,
  SEMANTICS,
  type SubjectSearch,
} from './messages.ts';
import { askAbout, NO_RECORD, recordOf } from './records.ts';

/** What answers: the engine, and who knows accounts. */
type Point = Pick<Services, 'engine' | 'subjectIds'>;

type DecisionBody = z.output<typeof DecisionResponse>;

interface Results<T> {
  page: { next_token: string; count: number };
  context: { revision: string };
  results: T[];
}

const AUTHZEN: Naming = {
  fields: {
    email: 'subject.id',
    app: 'appCode',
    permission: 'action.name',
    resourceType: 'resource.type',
    resourceId: 'resource.id',
  },
  item: (_list, index) => `evaluations.${index}`,
  message: () => '',
  page: { size: 'page.limit', cursor: 'page.token' },
};

/** Stands for no application, in a question about subjects of another type. */
const NOWHERE = '-';

function checkOf(
  app: string,
  { action, resource }: Evaluation,
  email: string,
  hasEntity: boolean,
): Omit<CheckFields, 'minRevision'> {
  return {
    email,
    app,
    permission: action.name,
    ...recordOf(resource, app, hasEntity),
    accessLevel: askedLevel(action.properties?.accessLevel),
  };
}

function decided({ level, source }: Decision, isYes: boolean, revision: string): DecisionBody {
  return { decision: isYes, context: { source: SOURCE_NAMES[source], access_level: LEVEL_NAMES[level], revision } };
}

function callOf({ signal }: Asking): Call {
  return { naming: AUTHZEN, signal };
}

/** One decision. Answered in the same turn when the engine holds all it needs. */
export function askEvaluation(
  point: Point,
  app: string,
  question: Evaluation,
  asking: Asking,
): Answer<DecisionBody> | Promise<Answer<DecisionBody>> {
  const { engine, subjectIds } = point;
  const answered = subjectIds.read([question.subject], ([email = '']) =>
    askAbout(engine, app, [question.resource], asking, (hasEntity) =>
      RPCS.check.ask(engine, withRevision(checkOf(app, question, email, hasEntity), asking), callOf(asking)),
    ),
  );
  const toAnswer = ({ decision, allowed, revision }: Awaited<typeof answered>) =>
    answer(decided(decision, allowed, revision), { revision });
  return answered instanceof Promise ? answered.then(toAnswer) : toAnswer(answered);
}

/**
 * Decisions of one revision, in the order of the questions, up to the one with which the semantic ends. All are
 * decided, also those left out of the answer: a malformed one is refused in any position.
 */
export async function askEvaluations(
  point: Point,
  app: string,
  { questions, semantic }: Evaluations,
  asking: Asking,
): Promise<Answer<DecisionBody | { evaluations: DecisionBody[] }>> {
  if (semantic === null) return await askEvaluation(point, app, certain(questions[0]), asking);
  const { engine, subjectIds } = point;
  const resources = questions.map(({ resource }) => resource);
  const subjects = questions.map(({ subject }) => subject);
  const { decisions, levels, revision } = await subjectIds.read(subjects, (emails) =>
    askAbout(engine, app, resources, asking, (hasEntity) => {
      const checks = questions.map((question, index) => {
        return { ...checkOf(app, question, certain(emails[index]), hasEntity), minRevision: '' };
      });
      return RPCS.batchCheck.ask(engine, withRevision({ checks }, asking), callOf(asking));
    }),
  );
  const all = decisions.map((decision, index) => {
    return decided(decision, isAllowed(decision, certain(levels[index])), revision);
  });
  const last = all.findIndex(({ decision }) => decision === SEMANTICS[semantic]);
  return answer({ evaluations: last === -1 ? all : all.slice(0, last + 1) }, { revision });
}

/** A page of the users whom an evaluation of the same question allows. */
export async function searchSubjects(
  point: Point,
  app: string,
  { subject, action, resource, page }: z.output<typeof SubjectSearch>,
  asking: Asking,
): Promise<Answer<Results<{ type: string; id: string }>>> {
  const { engine, subjectIds } = point;
  const { subjects, next, revision } = await askAbout(engine, app, [resource], asking, (hasEntity) => {
    const fields = {
      app: subjectIds.has(subject.type) ? app : NOWHERE,
      permission: action.name,
      ...recordOf(resource, app, hasEntity),
      accessLevel: askedLevel(action.properties?.accessLevel),
      ...pageOf(page, SUBJECTS_PAGE),
    };
    return RPCS.listSubjects.ask(engine, withRevision(fields, asking), callOf(asking));
  });
  const people = subjects.map(({ email }) => email);
  return results(await subjectIds.show(subject.type, people), next, revision);
}

/** A page of the resources that an evaluation of the same question allows; UNBOUNDED when these are all but some. */
export async function searchResources(
  point: Point,
  app: string,
  { subject, action, resource: { type }, page }: z.output<typeof ResourceSearch>,
  asking: Asking,
): Promise<Answer<Results<{ type: string; id: string }>>> {
  const whole = { type, id: app };
  if (type === NO_RECORD) {
    if (typeof page?.token === 'string') throw notACursor(AUTHZEN.page.cursor);
    const { payload, meta } = await askEvaluation(point, app, { subject, action, resource: whole }, asking);
    return results(payload.decision ? [whole] : [], '', meta.revision ?? '');
  }
  const { engine, subjectIds } = point;
  const common = {
    app,
    permission: action.name,
    resourceType: type,
    accessLevel: askedLevel(action.properties?.accessLevel),
    ...pageOf(page, RESOURCES_PAGE),
  };
  let isRecord = true;
  const listed = await subjectIds.read([subject], ([email = '']) =>
    askAbout(engine, app, [whole], asking, (hasEntity) => {
      isRecord = recordOf(whole, app, hasEntity).resourceType !== '';
      return RPCS.listResources.ask(engine, withRevision({ ...common, email }, asking), callOf(asking));
    }),
  );
  if (listed.allExcept) {
    throw new UsherError(
      'UNBOUNDED',
      `They can reach every ${type} but single ones, and an AuthZEN answer cannot say so: evaluate the records at hand, or ask POST /api/check/resources for the exceptions.`,
    );
  }
  // An override for a record with the application's code does not answer the question without a record.
  const ids = listed.resourceIds.filter((id) => isRecord || id !== app);
  return results(
    ids.map((id) => ({ type, id })),
    listed.next,
    listed.revision,
  );
}

/** The permissions that a subject holds for a record, all of them: an application defines no more than an answer holds. */
export async function searchActions(
  point: Point,
  app: string,
  { subject, resource, page }: z.output<typeof ActionSearch>,
  asking: Asking,
): Promise<Answer<Results<{ name: string }>>> {
  if (typeof page?.token === 'string') throw notACursor(AUTHZEN.page.cursor);
  const { engine, subjectIds } = point;
  const { items, revision } = await subjectIds.read([subject], ([email = '']) =>
    askAbout(engine, app, [resource], asking, (hasEntity) => {
      const fields = { email, app, ...recordOf(resource, app, hasEntity) };
      return RPCS.effective.ask(engine, withRevision(fields, asking), callOf(asking));
    }),
  );
  const held = items.filter(({ granted }) => granted).map(({ code }) => ({ name: code }));
  return results(held, '', revision);
}

/** Any limit is valid: a page may hold fewer results than requested. */
function pageOf(page: PageRequest, { most }: { most: number }): { pageSize: number; pageToken: string } {
  return { pageSize: Math.min(page?.limit ?? 0, most), pageToken: page?.token ?? '' };
}

function results<T>(found: T[], next: string, revision: string): Answer<Results<T>> {
  const page = { next_token: next, count: found.length };
  return answer({ page, context: { revision }, results: found }, { revision });
}
