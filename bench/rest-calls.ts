/** Calls of an administrator, one by one: status, body, and what the answer says beside. */

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the service answered; callers know what they asked for.
  body: any;
  etag: string | null;
  /** The number in `usher-revision`; NaN where the answer names none. */
  revision: number;
}

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  body?: unknown;
  ifMatch?: string;
}

/** Sends one call; throws on trouble with the connection, never on a status. */
export async function send(base: string, token: string, { method, path, body, ifMatch }: Call): Promise<Answer> {
  const response = await fetch(base + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const parsed: unknown = text === '' ? null : JSON.parse(text);
  const revision = Number.parseInt(response.headers.get('usher-revision') ?? '', 10);
  return { status: response.status, body: parsed, etag: response.headers.get('etag'), revision };
}

/** As `send`; an answer that is no success ends the benchmark. */
export async function sendRight(base: string, token: string, call: Call): Promise<Answer> {
  const answer = await send(base, token, call);
  if (answer.status >= 400) {
    throw new Error(
      `${call.method} ${call.path} answered ${answer.status}: ${JSON.stringify(answer.body).slice(0, 500)}`,
    );
  }
  return answer;
}
