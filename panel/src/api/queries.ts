/** Reads of the API as hooks. The key of a query is its operation and input, so every view of one thing shares it. */

import {
  keepPreviousData,
  QueryClient,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query';
import { onPersonChanged } from '../session/person.ts';
import { type Answer, call, type Input, type Item, type Operation, type Out } from './call.ts';
import { ApiError } from './error.ts';

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      retry: (failures, error) => failures < 3 && error instanceof ApiError && error.isTransient,
      retryDelay: (attempt) => Math.min(400 * 2 ** attempt, 5_000),
      refetchOnWindowFocus: true,
    },
  },
});

onPersonChanged(() => queryClient.clear());

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
    queryKey: [operation, input],
    queryFn: ({ signal }) => call(operation, input, { signal }),
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
  const query = useInfiniteQuery({
    queryKey: [operation, input, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      call(operation, { ...input, query: { ...input.query, cursor: pageParam } } as unknown as Input<K>, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    enabled,
  });
  const items = (query.data?.pages ?? []).flatMap((page) => page.data as Item<K>[]);
  return { items, query };
}

/** Asks again for everything read by operations whose path begins like this, such as `/api/applications/atelier`. */
export function refresh(...paths: string[]): void {
  void queryClient.invalidateQueries({
    predicate: ({ queryKey }) => {
      const [operation, input] = queryKey as [string, { path?: Record<string, string> } | undefined];
      const filled = operation.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(input?.path?.[name]));
      return paths.some((path) => filled.slice(filled.indexOf(' ') + 1).startsWith(path));
    },
  });
}
