/** A TCP proxy before PostgreSQL that passes everything on but notifications: LISTEN dead in silence. */
import { connect, createServer, type Server, type Socket } from 'node:net';

const NOTIFICATION = 'A'.charCodeAt(0);
/** Type byte and length. */
const HEAD = 5;

export class SilentProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #dropped = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(target: URL): Promise<SilentProxy> {
    const server = createServer();
    const proxy = new SilentProxy(server);
    server.on('connection', (client) => proxy.#accept(client, target));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', () => resolve());
    });
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy is not listening');
    return address.port;
  }

  /** How many notifications were swallowed: none would mean that nothing was tested. */
  get dropped(): number {
    return this.#dropped;
  }

  #accept(client: Socket, target: URL): void {
    const server = connect(Number(target.port), target.hostname);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
      // A broken pair is closed; whoever used it sees that.
      socket.on('error', () => socket.destroy());
    }
    client.on('data', (bytes) => server.write(bytes));
    let held: Buffer = Buffer.alloc(0);
    server.on('data', (bytes: Buffer) => {
      held = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
      let at = 0;
      let passed = 0;
      const out: Buffer[] = [];
      while (held.length - at >= HEAD) {
        const end = at + 1 + held.readUInt32BE(at + 1);
        if (held.length < end) break;
        if (held[at] === NOTIFICATION) {
          out.push(held.subarray(passed, at));
          passed = end;
          this.#dropped++;
        }
        at = end;
      }
      out.push(held.subarray(passed, at));
      held = held.subarray(at);
      client.write(Buffer.concat(out));
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
