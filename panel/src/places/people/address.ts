/** Where a person is in the panel. An address of an e-mail may hold any visible ASCII character. */

export function personPath(email: string, view = ''): string {
  return `/people/${encodeURIComponent(email)}${view === '' ? '' : `/${view}`}`;
}

/**
 * The person of a path such as `/panel/people/ada%40example.com/messages`; null without one. Of the browser's own path: the router
 * decodes only a part of it, and a percent sign must be decoded once.
 */
export function emailOfPath(pathname: string): string | null {
  const segment = /\/people\/([^/]+)/.exec(pathname)?.[1];
  if (segment === undefined) return null;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // Typed by hand: the service says that it is no address.
  }
}

interface Question {
  readonly app: string;
  readonly email: string;
  readonly permission: string;
  readonly resourceType?: string | null;
  readonly resourceId?: string | null;
}

/** The question in Ask (docs/reference/decisions.md). */
export function askPath({ app, email, permission, resourceType, resourceId }: Question): string {
  const query = new URLSearchParams({ app, email, permission });
  if (resourceType && resourceId) {
    query.set('resourceType', resourceType);
    query.set('resourceId', resourceId);
  }
  return `/ask?${query}`;
}
