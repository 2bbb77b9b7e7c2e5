import type { Answer } from './service.ts';

const LARGEST_PAGE = 200;

/** The part of a query that chooses a page; null for the first one. */
interface Page {
  limit: number;
  cursor: string | null;
}

/** The first `limit` rows of a paged list, and whether more follow. */
export async function readRows<Row>(
  read: (page: Page) => Promise<Answer<readonly Row[]>>,
  limit: number,
): Promise<{ rows: Row[]; more: boolean }> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const { data, next }: Answer<readonly Row[]> = await read({
      limit: Math.min(LARGEST_PAGE, limit - rows.length),
      cursor,
    });
    rows.push(...data);
    cursor = next;
  } while (cursor !== null && rows.length < limit);
  return { rows, more: cursor !== null };
}
