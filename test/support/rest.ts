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
  readonly #usher: RunningUsher;
  readonly #authorization: string | undefined;

  private constructor(usher: RunningUsher, authorization: string | undefined) {
    this.#usher = usher;
    this.#authorization = authorization;
  }

  /** As the owner of an address; without one, as nobody. */
  static async as(usher: RunningUsher, email?: string): Promise<Rest> {
    return new Rest(usher, email === undefined ? undefined : `Bearer ${await usher.token(email)}`);
  }

  /** With a token of one's own making. */
  static bearing(usher: RunningUsher, token: string): Rest {
    return new Rest(usher, `Bearer ${token}`);
  }

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<RestAnswer> {
    const response = await fetch(this.#usher.rest + path, {
      method,
      headers: {
        ...(this.#authorization === undefined ? {} : { authorization: this.#authorization }),
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
