import type { RunningUsher } from './usher.ts';

export interface RestAnswer {
  status: number;
  headers: Headers;
  /** Parsed JSON; undefined for an empty body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  body: any;
}

/** Requests to a running service in somebody's name. */
export class Rest {
  readonly #usher: () => RunningUsher;
  readonly #authorization: () => Promise<string | undefined>;

  private constructor(usher: () => RunningUsher, authorization: () => Promise<string | undefined>) {
    this.#usher = usher;
    this.#authorization = authorization;
  }

  /** As the owner of an address; without one, as nobody. */
  static async as(usher: RunningUsher, email?: string): Promise<Rest> {
    const authorization = email === undefined ? undefined : `Bearer ${await usher.token(email)}`;
    return new Rest(
      () => usher,
      () => Promise.resolve(authorization),
    );
  }

  /** As the owner of an address, of a service that will run when the first request is made. */
  static later(usher: () => RunningUsher, email: string): Rest {
    let token: Promise<string> | undefined;
    return new Rest(usher, async () => {
      token ??= usher().token(email);
      return `Bearer ${await token}`;
    });
  }

  /** With a token of one's own making. */
  static bearing(usher: RunningUsher, token: string): Rest {
    return new Rest(
      () => usher,
      () => Promise.resolve(`Bearer ${token}`),
    );
  }

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<RestAnswer> {
    const authorization = await this.#authorization();
    const response = await fetch(this.#usher().rest + path, {
      method,
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  }

  get(path: string, headers?: Record<string, string>): Promise<RestAnswer> {
    return this.send('GET', path, undefined, headers);
  }
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<RestAnswer> {
    return this.send('POST', path, body, headers);
  }
  put(path: string, body: unknown, headers?: Record<string, string>): Promise<RestAnswer> {
    return this.send('PUT', path, body, headers);
  }
  delete(path: string): Promise<RestAnswer> {
    return this.send('DELETE', path);
  }
}
