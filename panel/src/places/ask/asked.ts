/** What the views of a question share: the catalog of its application, and the answer. */

import type { UseQueryResult } from '@tanstack/react-query';
import type { Item, Out } from '../../../../src/gen/api.ts';
import type { Answer } from '../../api/call.ts';
import { useRead } from '../../api/queries.ts';
import { bodyOf, isComplete, type Question } from './question.ts';

type Explanation = Out<'POST /api/applications/{appCode}/explain'>;

export interface Catalog {
  readonly matrix: Out<'GET /api/applications/{appCode}/matrix'> | null;
  readonly entities: readonly Item<'GET /api/applications/{appCode}/entities'>[] | null;
  /** Why a part is missing; null while it is asked for. */
  readonly error: Error | null;
  readonly again: () => void;
}

export interface BenchProps {
  /** As it is typed. */
  readonly question: Question;
  /** As it is when typing pauses: for everything beside the answer. */
  readonly settled: Question;
  readonly change: (changes: Partial<Question>) => void;
  readonly apps: readonly Item<'GET /api/applications'>[];
  readonly catalog: Catalog;
}

/** Asked at every key; an answer to an earlier question is thrown away. */
export function useExplain(question: Question): UseQueryResult<Answer<Explanation>> {
  const input = { path: { appCode: question.app }, body: bodyOf(question) };
  return useRead('POST /api/applications/{appCode}/explain', input, {
    enabled: isComplete(question),
    keep: true,
    staleTime: 0,
  });
}

/** `known`: whether the application is one that the signed-in person sees. */
export function useCatalog(appCode: string, known: boolean): Catalog {
  const path = { appCode };
  const matrix = useRead('GET /api/applications/{appCode}/matrix', { path }, { enabled: known });
  const entities = useRead('GET /api/applications/{appCode}/entities', { path }, { enabled: known });
  const failed = [matrix, entities].filter(({ isError, data }) => isError && data === undefined);
  return {
    matrix: matrix.data?.data ?? null,
    entities: entities.data?.data ?? null,
    error: failed[0]?.error ?? null,
    again: () => {
      for (const query of failed) void query.refetch();
    },
  };
}

/** Whether an override may name such a record: an application without a catalog of entities takes any kind. */
export function isKnownType({ entities }: Catalog, resourceType: string): boolean {
  return entities === null || entities.length === 0 || entities.some(({ code }) => code === resourceType);
}
