/** Reads of the development mailbox. They need no credentials, so they work signed out too. */

import { keepPreviousData, type UseQueryResult, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { Item, Out } from '../../../../src/gen/api.ts';
import { type Answer, call } from '../../api/call.ts';
import { ApiError } from '../../api/error.ts';
import type { Listed } from '../../api/queries.ts';

const LIST = 'GET /dev/mail';
const ONE = 'GET /dev/mail/{id}';

export type Mail = Item<typeof LIST>;

/** No revision tells of a mail: while the list can be seen it is asked for this often. */
const EVERY_MS = 3_000;

/** Mails with the text in recipient or subject, the newest first. Its one page refreshes by itself. */
export function useMails(q: string): Listed<Mail> {
  const input = { query: { q } };
  const query = useInfiniteQuery({
    queryKey: [LIST, input, 'pages'],
    queryFn: ({ signal }) => call(LIST, input, { signal, anonymous: true }),
    initialPageParam: null,
    getNextPageParam: () => null,
    placeholderData: keepPreviousData,
    refetchInterval: EVERY_MS,
  });
  return { items: query.data?.pages[0]?.data ?? [], query };
}

export function useMail(id: string): UseQueryResult<Answer<Out<typeof ONE>>> {
  const input = { path: { id } };
  return useQuery({
    queryKey: [ONE, input],
    queryFn: ({ signal }) => call(ONE, input, { signal, anonymous: true }),
    // A mail never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Whether there is no such mail, or none any more. */
export function isGone(error: Error | null): boolean {
  return error instanceof ApiError && (error.status === 404 || error.status === 400);
}
