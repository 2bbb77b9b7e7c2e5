/** Reads of the API as hooks. The key of a query is its operation and input, so every view of one thing shares it. */

import {
  infiniteQueryOptions,
  keepPreviousData,
  QueryCache,
  QueryClient,
  queryOptions,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query';
import type { Input, Item, Operation, Out } from '../../../src/gen/api.ts';
import { onPersonChanged } from '../session/person.ts';
import { type Answer, call } from './call.ts';
import { ApiError } from './error.ts';

/** What the signed-in person may administer: the rest of the panel follows from it. */
export const OWN_RIGHTS = 'GET /api/profile/me/admin-status';

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => onRefused(error) }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // What was not answered in time is not asked for again unseen: the view says so, and offers to.
      retry: (failures, error) =>
        failures < 3 && error instanceof ApiError && error.isTransient && error.code !== 'TIMEOUT',
      retryDelay: (attempt) => Math.min(400 * 2 ** attempt, 5_000),
      refetchOnWindowFocus: true,
    },
  },
});

onPersonChanged(() => queryClient.clear());

/** After a 403: rights that were taken away meanwhile are no longer offered. */
export function onRefused(error: unknown): void {
  if (error instanceof ApiError && error.status === 403) refresh(OWN_RIGHTS);
}

interface ReadOptions {
  /** False while what the question needs is missing. */
  readonly enabled?: boolean;
  /** Keeps the last answer on the screen while another is asked for. */
  readonly keep?: boolean;
  readonly staleTime?: number;
}

/** One record, with its ETag and revision. */
export function useRead<K extends Operation>(
  operation: K,
  input: Input<K>,
  { enabled = true, keep = false, staleTime }: ReadOptions = {},
): UseQueryResult<Answer<Out<K>>> {
  return useQuery({
    ...readOf(operation, input),
    enabled,
    ...(keep ? { placeholderData: keepPreviousData } : {}),
    ...(staleTime === undefined ? {} : { staleTime }),
  });
}

export interface Listed<T> {
  readonly items: readonly T[];
  readonly query: UseInfiniteQueryResult;
}

/** A list, page after page. */
export function useList<K extends Operation>(operation: K, input: Input<K>, enabled = true): Listed<Item<K>> {
  const query = useInfiniteQuery({ ...listOf(operation, input), placeholderData: keepPreviousData, enabled });
  const items = (query.data?.pages ?? []).flatMap((page) => page.data as Item<K>[]);
  return { items, query };
}

/** Asks before a view does, which then finds the answer or waits for it. A failure is the view's: it asks again. */
export function readAhead<K extends Operation>(operation: K, input: Input<K>): void {
  void queryClient.prefetchQuery(readOf(operation, input));
}

/** The same for the first page of a list. */
export function listAhead<K extends Operation>(operation: K, input: Input<K>): void {
  void queryClient.prefetchInfiniteQuery(listOf(operation, input));
}

function readOf<K extends Operation>(operation: K, input: Input<K>) {
  return queryOptions({
    queryKey: [operation, input],
    queryFn: ({ signal }) => call(operation, input, { signal }),
  });
}

function listOf<K extends Operation>(operation: K, input: Input<K>) {
  return infiniteQueryOptions({
    queryKey: [operation, input, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      call(operation, { ...input, query: { ...input.query, cursor: pageParam } } as unknown as Input<K>, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
}

/**
 * Asks again for what was read of these. A path, such as `/api/applications/shop`, stands for itself and all below it; an
 * operation, such as `GET /api/applications`, for itself alone.
 */
export function refresh(...concerned: string[]): void {
  void queryClient.invalidateQueries({
    predicate: ({ queryKey }) => concerned.some((one) => isConcerned(queryKey, one)),
  });
}

/** Whether the query of this key reads what `refresh` names. */
export function isConcerned(queryKey: readonly unknown[], concerned: string): boolean {
  const [operation, input] = queryKey as [string, { path?: Record<string, string | number> } | undefined];
  const [method, path] = operation.split(' ', 2);
  if (path === undefined || (method !== 'GET' && !ASKED_BY_POST.test(path))) return false;
  if (concerned.includes(' ')) return operation === concerned;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(input?.path?.[name]));
  return filled === concerned || filled.startsWith(`${concerned}/`);
}

/** Questions whose answer others may change. Every other POST shows a draft: a preview, or a write that is rehearsed. */
const ASKED_BY_POST = /\/(effective|explain|resources|subjects)$/;
