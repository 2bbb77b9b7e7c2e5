import type { Service } from './service.ts';

const LARGEST_PAGE = 200;

/** The first `limit` rows of a paged list, and whether more follow. */
export async function readRows<Row>(
  service: Service,
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  limit: number,
): Promise<{ rows: Row[]; more: boolean }> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const parameters = new URLSearchParams({ limit: String(Math.min(LARGEST_PAGE, limit - rows.length)) });
    for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value);
    if (cursor !== null) parameters.set('cursor', cursor);
    const { body } = await service.json({ method: 'GET', path: `${path}?${parameters.toString()}` });
    const { data, page } = body as { data: Row[]; page: { nextCursor: string | null } };
    rows.push(...data);
    cursor = page.nextCursor;
  } while (cursor !== null && rows.length < limit);
  return { rows, more: cursor !== null };
}
