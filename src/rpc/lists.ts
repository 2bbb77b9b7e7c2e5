/** The lists of people and of reachable resources, by page (docs/reference/lists.md). */

import { reached } from '../engine/bulk.ts';
import type { ListPage, ResourcesPage, SubjectsPage } from '../engine/lists.ts';
import type { AskOptions } from '../engine/options.ts';
import { type FieldNames, readForResources, readForSubjects } from '../engine/question.ts';
import type { Level } from '../engine/types.ts';
import { withCallerPath } from '../engine/unknown-codes.ts';
import {
  type ListResourcesRequest,
  type ListResourcesResponseSchema,
  type ListSubjectsRequest,
  type ListSubjectsResponseSchema,
  ResourceScope,
} from '../gen/usher/permission/v1/permission_pb.ts';
import {
  type Call,
  type Fields,
  ofOne,
  optionsOf,
  type PageSize,
  type PermissionEngine,
  pathsOf,
  type Rpc,
  readLevel,
  readPage,
  readRevision,
  refuseCursor,
} from './call.ts';

type ListFields<M> = Omit<Fields<M>, 'accessLevel'> & { accessLevel: number };
type SubjectsFields = ListFields<ListSubjectsRequest>;
type ResourcesFields = ListFields<ListResourcesRequest>;

/** Subjects a page. */
export const SUBJECTS_PAGE: PageSize = { most: 1000, usual: 100 };
/** Identifiers a page. */
export const RESOURCES_PAGE: PageSize = { most: 10_000, usual: 1000 };

/** The differences between the two lists. */
interface List<Q, A, P> {
  readonly size: PageSize;
  readonly read: (request: NoInfer<Q>, names: FieldNames) => A | null;
  readonly find: (
    engine: PermissionEngine,
    question: A & { level: Level },
    page: ListPage,
    options: AskOptions,
  ) => Promise<P>;
  /** The answer to a question that can name nothing. */
  readonly none: (revision: string) => P;
}

function ask<Q extends SubjectsFields | ResourcesFields, A extends object, P>({
  size,
  read,
  find,
  none,
}: List<Q, A, P>) {
  return async (engine: PermissionEngine, request: Q, call: Call): Promise<P> => {
    const level = readLevel(request.accessLevel);
    const question = read(request, call.naming.fields);
    const page = readPage(request, size, call.naming);
    const minRevision = readRevision(request.minRevision);
    if (question === null) {
      refuseCursor(page);
      return none(await reached(engine, minRevision));
    }
    try {
      return await find(engine, { ...question, level }, page, optionsOf(minRevision, call));
    } catch (error) {
      throw withCallerPath(error, pathsOf(call.naming.fields));
    }
  };
}

export const listSubjects: Rpc<SubjectsFields, SubjectsPage, typeof ListSubjectsResponseSchema> = {
  about: ofOne,
  ask: ask({
    size: SUBJECTS_PAGE,
    read: readForSubjects,
    find: ({ lists }, ...asked) => lists.subjects(...asked),
    none: (revision) => ({ subjects: [], next: '', revision, applicationKnown: null }),
  }),
  toMessage: ({ subjects, next, revision }) => ({
    subjects: subjects.map(({ email, decision }) => {
      return { email, accessLevel: decision.level, source: decision.source };
    }),
    nextPageToken: next,
    revision,
  }),
};

export const listResources: Rpc<ResourcesFields, ResourcesPage, typeof ListResourcesResponseSchema> = {
  about: ofOne,
  ask: ask({
    size: RESOURCES_PAGE,
    read: readForResources,
    find: ({ lists }, ...asked) => lists.resources(...asked),
    none: (revision) => ({ allExcept: false, resourceIds: [], next: '', revision, applicationKnown: null }),
  }),
  toMessage: ({ allExcept, resourceIds, next, revision }) => ({
    scope: allExcept ? ResourceScope.ALL_EXCEPT : ResourceScope.ONLY,
    resourceIds: [...resourceIds],
    nextPageToken: next,
    revision,
  }),
};
