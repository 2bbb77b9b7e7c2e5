import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A TCP proxy in front of a PostgreSQL, to cut lines at chosen moments. `cutOn` looks at what clients send: PostgreSQL's
 * simple queries travel as readable text.
 */
export class LineCutter {
  readonly #server: Server;
  readonly #target: { host: string; port: number };
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #mode: 'open' | 'closed' | 'silent' = 'open';
  #cut: { text: string; when: 'before' | 'after'; done: () => void } | undefined;

  private constructor(server: Server, target: { host: string; port: number }) {
    this.#server = server;
    this.#target = target;
    server.on('connection', (client) => this.#accept(client));
  }

  /** Listens on a free port of the loopback interface, in front of the server of `url`. */
  static async start(url: string): Promise<LineCutter> {
    const { hostname, port } = new URL(url);
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new LineCutter(server, { host: hostname, port: Number(port) });
  }

  /** `url` by way of this proxy. */
  url(url: string): string {
    const address = this.#server.address();
    const through = new URL(url);
    through.host = `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
    return through.href;
  }

  /** Cuts every line and refuses new ones. */
  down(): void {
    this.#mode = 'closed';
    for (const pair of this.#pairs) cut(pair);
  }

  /** Keeps every line, takes new ones, and lets nothing through: a network that swallows everything. */
  swallow(): void {
    this.#mode = 'silent';
    for (const [client, server] of this.#pairs) {
      client.removeAllListeners('data').resume();
      server.removeAllListeners('data').resume();
    }
  }

  /** Works again, for new lines. */
  up(): void {
    this.#mode = 'open';
  }

  /**
   * Cuts the first line on which a client sends `text`: before it reaches the server, or after the server has got it and
   * answered, the answer being withheld. Resolves when that has happened.
   */
  cutOn(text: string, when: 'before' | 'after'): Promise<void> {
    return new Promise((resolve) => {
      this.#cut = { text, when, done: resolve };
    });
  }

  async close(): Promise<void> {
    for (const pair of this.#pairs) cut(pair);
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    client.on('error', () => undefined);
    if (this.#mode === 'closed') {
      client.resetAndDestroy();
      return;
    }
    const server = connect(this.#target);
    server.on('error', () => undefined);
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    const over = () => {
      this.#pairs.delete(pair);
      cut(pair);
    };
    client.on('close', over);
    server.on('close', over);
    if (this.#mode === 'silent') {
      client.resume();
      return;
    }
    client.on('data', (chunk) => this.#forward(chunk, pair));
    server.on('data', (chunk) => client.write(chunk));
  }

  #forward(chunk: Buffer, pair: readonly [Socket, Socket]): void {
    const [, server] = pair;
    const wanted = this.#cut;
    if (wanted === undefined || !chunk.includes(wanted.text)) {
      server.write(chunk);
      return;
    }
    this.#cut = undefined;
    const finish = () => {
      cut(pair);
      wanted.done();
    };
    if (wanted.when === 'before') {
      finish();
      return;
    }
    server.removeAllListeners('data').once('data', finish);
    server.write(chunk);
  }
}

function cut([client, server]: readonly [Socket, Socket]): void {
  client.destroy();
  server.destroy();
}
