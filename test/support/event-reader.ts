/** One event. */
export interface Told {
  event: string;
  id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: two kinds of data.
  data: any;
}

/** A reader of server-sent events that keeps what it was told. */
export class EventReader {
  readonly told: Told[] = [];
  readonly status: number;
  readonly headers: Headers;
  ended = false;
  /** Whether the stream has said where it begins: what it was opened for has been read, and nothing before it is told twice. */
  begun = false;
  readonly #abort: AbortController;
  #changed: () => void = () => undefined;

  private constructor(response: Response, abort: AbortController) {
    this.status = response.status;
    this.headers = response.headers;
    this.#abort = abort;
    void this.#read(response.body as ReadableStream<Uint8Array>);
  }

  static async open(url: string, token: string, headers: Record<string, string> = {}): Promise<EventReader> {
    const abort = new AbortController();
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${token}`, ...headers },
      signal: abort.signal,
    });
    return new EventReader(response, abort);
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let text = '';
    try {
      for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        const blocks = text.split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) {
          if (/^event: /m.test(block)) this.told.push(parse(block));
          else if (/^id: /m.test(block)) this.begun = true;
        }
        this.#changed();
      }
    } catch {
      // Closed by the test.
    }
    this.ended = true;
    this.#changed();
  }

  async until(holds: () => boolean, ms = 15_000): Promise<void> {
    const late = performance.now() + ms;
    while (!holds()) {
      if (performance.now() > late) throw new Error(`not told in time: ${JSON.stringify(this.told)}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#changed = resolve;
      const timer = setTimeout(resolve, 100);
      await promise;
      clearTimeout(timer);
    }
  }

  subjects(): string[] {
    return this.told.filter(({ event }) => event === 'notification').map(({ data }) => data.subject);
  }

  counts(): number[] {
    return this.told.filter(({ event }) => event === 'unread-count').map(({ data }) => data.count);
  }

  close(): void {
    this.#abort.abort();
  }
}

function parse(block: string): Told {
  const field = (name: string) =>
    block
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  return { event: field('event') ?? '', id: field('id'), data: JSON.parse(field('data') ?? 'null') };
}
