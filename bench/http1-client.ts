/** The same for REST: HTTP/1.1 with keep-alive and one request in flight a connection, written by hand onto a socket. */
import { connect, type Socket } from 'node:net';
import { type Connection, Inbox, type Listener, Verdict, type Workload } from './load.ts';

const HEAD_END = Buffer.from('\r\n\r\n');

/** The requests of a workload for one authority and key; shared by all connections. */
export class HttpRequests {
  readonly workload: Workload;
  readonly #requests: Buffer[] = [];

  constructor(workload: Workload, authority: string, key: string | undefined) {
    this.workload = workload;
    const method = workload.method ?? 'POST';
    const start = `${method} ${workload.path} HTTP/1.1\r\nhost: ${authority}\r\n`;
    for (let i = 0; i < workload.size; i++) {
      const body = workload.body(i);
      const token = workload.token?.(i);
      const who =
        token !== undefined
          ? `authorization: Bearer ${token}\r\n`
          : key === undefined
            ? ''
            : `x-internal-api-key: ${key}\r\n`;
      const what = body.length === 0 ? '' : `content-type: application/json\r\n`;
      const length = method === 'GET' ? '' : `content-length: ${body.length}\r\n`;
      this.#requests.push(Buffer.concat([Buffer.from(`${start}${what}${who}${length}\r\n`), body]));
    }
  }

  request(index: number): Buffer {
    return this.#requests[index] as Buffer;
  }
}

export class HttpConnection implements Connection {
  readonly #port: number;
  readonly #requests: HttpRequests;
  readonly #listener: Listener;
  readonly #inbox = new Inbox();
  #socket: Socket;
  #next: Buffer | null = null;
  #index = -1;
  #sentAt = 0;
  #closed = false;

  private constructor(port: number, requests: HttpRequests, listener: Listener) {
    this.#port = port;
    this.#requests = requests;
    this.#listener = listener;
    this.#socket = this.#connect();
  }

  /** Connects; rejects when nobody listens. */
  static open(port: number, requests: HttpRequests, listener: Listener): Promise<HttpConnection> {
    return new Promise((resolve, reject) => {
      const connection = new HttpConnection(port, requests, listener);
      connection.#socket.once('connect', () => {
        connection.#socket.off('error', reject);
        resolve(connection);
      });
      connection.#socket.once('error', reject);
    });
  }

  #connect(): Socket {
    const socket = connect({
      port: this.#port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafeSlow(64 * 1024),
        callback: (length, chunk) => {
          this.#received(chunk, length);
          return true;
        },
      },
    });
    socket.on('error', (error) => this.#break(socket, error));
    socket.on('close', () => this.#break(socket, new Error('the server closed the connection')));
    return socket;
  }

  submit(index: number, now: number): void {
    if (this.#index !== -1) throw new Error('one request in flight a connection');
    this.#index = index;
    this.#sentAt = now;
    this.#next = this.#requests.request(index);
  }

  flush(): void {
    if (this.#next === null) return;
    this.#socket.write(this.#next);
    this.#next = null;
  }

  close(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  #received(chunk: Uint8Array, length: number): void {
    const now = performance.now();
    const inbox = this.#inbox;
    inbox.push(chunk, length);
    const headEnd = inbox.buffer.subarray(inbox.start, inbox.end).indexOf(HEAD_END);
    if (headEnd === -1) return;
    const head = inbox.buffer.toString('latin1', inbox.start, inbox.start + headEnd).toLowerCase();
    const contentLength = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
    if (contentLength === undefined) {
      this.#break(this.#socket, new Error(`an answer without content-length: ${head.slice(0, 200)}`));
      return;
    }
    const start = inbox.start + headEnd + HEAD_END.length;
    const end = start + Number(contentLength);
    if (inbox.end < end) return;
    this.#answer(head, start, end, now);
    this.#listener.batchEnd(this);
  }

  #answer(head: string, start: number, end: number, now: number): void {
    const { buffer } = this.#inbox;
    const index = this.#index;
    this.#index = -1;
    const ok = head.startsWith('http/1.1 200 ');
    const right = ok && this.#requests.workload.isRight(index, buffer, start, end);
    const verdict = right ? Verdict.RIGHT : ok ? Verdict.WRONG : Verdict.FAILED;
    const detail = right
      ? ''
      : `${this.#requests.workload.describe(index)}: ${head.slice(0, 12)} ${buffer.toString('utf8', start, end)}`;
    this.#inbox.consume(end - this.#inbox.start);
    if (head.includes('\r\nconnection: close')) {
      // A server ends a connection after so many requests: the next one begins on a new connection.
      this.#socket.destroy();
      this.#socket = this.#connect();
    }
    this.#listener.answered(this, index, now - this.#sentAt, verdict, detail);
  }

  #break(socket: Socket, error: Error): void {
    if (this.#closed || socket !== this.#socket) return;
    this.close();
    this.#listener.broken(this, error);
  }
}
