import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

type Pair = readonly [client: Socket, server: Socket];

export interface LineOptions {
  /** For each connection: transforms the server's bytes before the client gets them. */
  answers?: () => (bytes: Buffer) => Buffer;
}

/**
 * A TCP proxy in front of a server (a PostgreSQL, an SMTP server, a push service), that does to its lines what networks do: cuts
 * them, swallows everything, takes its time, leads elsewhere from now on. `cutOn` looks at what clients send: PostgreSQL's
 * simple queries travel as readable text.
 */
export class LineCutter {
  readonly #server: Server;
  readonly #options: LineOptions;
  #target: { host: string; port: number };
  readonly #pairs = new Set<Pair>();
  #mode: 'open' | 'closed' | 'silent' = 'open';
  #delayMs = 0;
  #cut:
    | { text: string; when: 'before' | 'after' | 'refused'; primed: string | undefined; done: () => void }
    | undefined;
  /** Lines that have sent what primes the cut. */
  #primed = new WeakSet<Pair>();

  private constructor(server: Server, target: { host: string; port: number }, options: LineOptions) {
    this.#server = server;
    this.#target = target;
    this.#options = options;
    server.on('connection', (client) => this.#accept(client));
  }

  /** Listens on a free port of the loopback interface, in front of the server of `url`. */
  static async start(url: string, options: LineOptions = {}): Promise<LineCutter> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new LineCutter(server, targetOf(url), options);
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** `url` by way of this proxy. */
  url(url: string): string {
    const through = new URL(url);
    through.host = `127.0.0.1:${this.port}`;
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

  /** Delays everything from now on, each way. 0 ends it. */
  slow(ms: number): void {
    this.#delayMs = ms;
  }

  /** A failover: cuts every line; new ones lead to the server of `url`. */
  lead(url: string): void {
    this.#target = targetOf(url);
    for (const pair of this.#pairs) cut(pair);
  }

  /**
   * Cuts the first line on which a client sends `text`: before it reaches the server, or after the server has got it and
   * answered, the answer being withheld. Resolves when that has happened. With `primed` only a line that has sent this before:
   * a COMMIT of a write, say, and not that of a reading.
   */
  cutOn(text: string, when: 'before' | 'after', primed?: string): Promise<void> {
    return new Promise((resolve) => {
      this.#primed = new WeakSet();
      this.#cut = { text, when, primed, done: resolve };
    });
  }

  /** Answers `text` with an error of PostgreSQL, once, in place of the server, which never gets it. The line stays. */
  refuseOn(text: string, primed?: string): Promise<void> {
    return new Promise((resolve) => {
      this.#primed = new WeakSet();
      this.#cut = { text, when: 'refused', primed, done: resolve };
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
    const pair = [client.setNoDelay(true), server.setNoDelay(true)] as const;
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
    const answers = this.#options.answers?.();
    const toServer = this.#after((chunk) => void server.write(chunk));
    const toClient = this.#after((chunk) => void client.write(answers === undefined ? chunk : answers(chunk)));
    client.on('data', (chunk: Buffer) => this.#forward(chunk, pair, toServer));
    server.on('data', toClient);
  }

  /** `pass` in the order of the calls, each after the delay of its time. */
  #after(pass: (chunk: Buffer) => void): (chunk: Buffer) => void {
    const waiting: Buffer[] = [];
    // Timers may overtake each other by a millisecond; what they pass on may not.
    const next = () => {
      const chunk = waiting.shift();
      if (chunk !== undefined) pass(chunk);
    };
    return (chunk) => {
      if (this.#delayMs === 0 && waiting.length === 0) {
        pass(chunk);
        return;
      }
      waiting.push(chunk);
      setTimeout(next, this.#delayMs).unref();
    };
  }

  #forward(chunk: Buffer, pair: Pair, pass: (chunk: Buffer) => void): void {
    const wanted = this.#cut;
    if (wanted?.primed !== undefined && chunk.includes(wanted.primed)) this.#primed.add(pair);
    const fits = wanted?.primed === undefined || this.#primed.has(pair);
    if (wanted === undefined || !fits || !chunk.includes(wanted.text)) {
      pass(chunk);
      return;
    }
    this.#cut = undefined;
    if (wanted.when === 'refused') {
      pair[0].write(REFUSAL);
      wanted.done();
      return;
    }
    const finish = () => {
      cut(pair);
      wanted.done();
    };
    if (wanted.when === 'before') {
      finish();
      return;
    }
    let owed = readiesAfter(chunk);
    pair[1].removeAllListeners('data').on('data', (answer: Buffer) => {
      for (let at = answer.indexOf(READY); at !== -1; at = answer.indexOf(READY, at + 1)) owed--;
      if (owed <= 0) finish();
    });
    pass(chunk);
  }
}

/** How ReadyForQuery of PostgreSQL begins. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5]);

/** How often PostgreSQL says that it is ready, having carried these whole messages out; 0 for bytes of another protocol. */
function readiesAfter(messages: Buffer): number {
  let readies = 0;
  let at = 0;
  while (at + 5 <= messages.length) {
    if (messages[at] === QUERY || messages[at] === SYNC) readies++;
    at += 1 + messages.readUInt32BE(at + 1);
  }
  return at === messages.length ? readies : 0;
}

const QUERY = 0x51;
const SYNC = 0x53;

/** ErrorResponse, and ReadyForQuery in a transaction. */
const REFUSAL = Buffer.concat([message('E', 'SERROR\0VERROR\0CXX000\0Mrefused by the proxy\0\0'), message('Z', 'T')]);

function message(type: string, body: string): Buffer {
  const whole = Buffer.from(`${type}\0\0\0\0${body}`);
  whole.writeInt32BE(whole.length - 1, 1);
  return whole;
}

function targetOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

function cut([client, server]: Pair): void {
  client.destroy();
  server.destroy();
}
