import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** What a message begins with. */
const HEADER = 5;

/** Whole messages out of a stream of bytes. */
class Messages {
  #rest: Buffer = Buffer.alloc(0);

  take(bytes: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const whole: Buffer[] = [];
    while (this.#rest.length >= HEADER) {
      const length = 1 + this.#rest.readInt32BE(1);
      if (this.#rest.length < length) break;
      whole.push(this.#rest.subarray(0, length));
      this.#rest = this.#rest.subarray(length);
    }
    return whole;
  }
}

/** A connection to the server, which clients have for one transaction each. */
interface Backend {
  readonly socket: Socket;
  client: Client | undefined;
  /** Answers (ReadyForQuery) that are still owed. */
  owed: number;
}

interface Client {
  readonly socket: Socket;
  backend: Backend | undefined;
  /** What came before a backend was free. */
  readonly waiting: Buffer[];
}

/**
 * A pooler as PgBouncer is in transaction mode, as far as migrations need it: a client has a server connection from the first
 * message of a transaction to its end, and startup parameters go nowhere. What a session keeps stays with the server connection.
 */
export class TransactionPooler {
  readonly #server: Server;
  readonly #target: URL;
  readonly #size: number;
  readonly #backends: Backend[] = [];
  readonly #queue: Client[] = [];
  readonly #sockets = new Set<Socket>();
  /** Startup parameters that clients sent. */
  readonly parameters = new Set<string>();

  private constructor(server: Server, target: URL, size: number) {
    this.#server = server;
    this.#target = target;
    this.#size = size;
    server.on('connection', (socket) => this.#accept(socket));
  }

  static async start(url: string, { size }: { size: number }): Promise<TransactionPooler> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TransactionPooler(server, new URL(url), size);
  }

  /** The database by way of the pooler. */
  get url(): string {
    const url = new URL(this.#target);
    const address = this.#server.address();
    url.host = `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
    return url.href;
  }

  /** Ends every connection to the server, as a restart of the pooler does. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket.setNoDelay(true));
    socket.on('close', () => this.#sockets.delete(socket));
    return socket.on('error', () => undefined);
  }

  #accept(socket: Socket): void {
    const client: Client = { socket: this.#keep(socket), backend: undefined, waiting: [] };
    const messages = new Messages();
    socket.once('data', (startup: Buffer) => {
      const texts = startup.subarray(8).toString().split('\0');
      for (let at = 0; at < texts.length - 2; at += 2) this.parameters.add(texts[at] ?? '');
      // AuthenticationOk, BackendKeyData, ReadyForQuery.
      socket.write(
        Buffer.concat([message('R', [0, 0, 0, 0]), message('K', [0, 0, 0, 1, 0, 0, 0, 1]), message('Z', 'I')]),
      );
      socket.on('data', (bytes: Buffer) => {
        for (const one of messages.take(bytes)) this.#fromClient(client, one);
      });
    });
    socket.on('close', () => {
      // In the middle of a transaction: its server connection is of no more use.
      if (client.backend !== undefined) this.#drop(client.backend);
    });
  }

  #fromClient(client: Client, bytes: Buffer): void {
    const type = String.fromCharCode(bytes[0] ?? 0);
    if (type === 'X') {
      client.socket.end();
      return;
    }
    client.waiting.push(bytes);
    if (client.backend !== undefined) this.#forward(client, client.backend);
    else if (!this.#queue.includes(client)) {
      this.#queue.push(client);
      this.#assign();
    }
  }

  #forward(client: Client, backend: Backend): void {
    for (const bytes of client.waiting.splice(0)) {
      if (bytes[0] === 0x51 /* Query */ || bytes[0] === 0x53 /* Sync */) backend.owed++;
      backend.socket.write(bytes);
    }
  }

  #assign(): void {
    // The last one that was given back comes first here, so that two clients are rarely given the same one.
    const free = this.#backends.find(({ client }) => client === undefined);
    if (this.#queue.length === 0) return;
    if (free === undefined) {
      if (this.#backends.length < this.#size) void this.#open();
      return;
    }
    const client = this.#queue.shift() as Client;
    // Round and round, as poolers may do it.
    this.#backends.push(...this.#backends.splice(this.#backends.indexOf(free), 1));
    free.client = client;
    client.backend = free;
    this.#forward(client, free);
    this.#assign();
  }

  async #open(): Promise<void> {
    const socket = this.#keep(connect(Number(this.#target.port), this.#target.hostname));
    const backend: Backend = { socket, client: STARTING, owed: 1 };
    this.#backends.push(backend);
    const messages = new Messages();
    socket.on('close', () => this.#drop(backend));
    socket.on('data', (bytes: Buffer) => {
      for (const one of messages.take(bytes)) this.#fromServer(backend, one);
    });
    const database = this.#target.pathname.slice(1);
    const body = Buffer.from(`\0\0\0\0\0\x03\0\0user\0${this.#target.username}\0database\0${database}\0\0`);
    body.writeInt32BE(body.length, 0);
    socket.write(body);
  }

  #fromServer(backend: Backend, bytes: Buffer): void {
    const { client } = backend;
    if (client !== undefined && client !== STARTING) client.socket.write(bytes);
    if (bytes[0] !== 0x5a /* ReadyForQuery */) return;
    backend.owed--;
    if (bytes[HEADER] !== 0x49 /* idle */ || backend.owed > 0) return;
    if (client !== undefined) client.backend = undefined;
    backend.client = undefined;
    this.#assign();
  }

  #drop(backend: Backend): void {
    const at = this.#backends.indexOf(backend);
    if (at === -1) return;
    this.#backends.splice(at, 1);
    backend.socket.destroy();
    backend.client?.socket.destroy();
    this.#assign();
  }
}

/** Has a backend until its server lets it in. */
const STARTING = { socket: { destroy: () => undefined }, backend: undefined, waiting: [] } as unknown as Client;

function message(type: string, body: string | readonly number[]): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body);
  const whole = Buffer.concat([Buffer.from(`${type}\0\0\0\0`), bytes]);
  whole.writeInt32BE(whole.length - 1, 1);
  return whole;
}
