/** A proxy of HTTP as operators have one: CONNECT for what has TLS, requests in absolute form for the rest (RFC 9110 9.3.6, RFC 9112 3.2.2). */
import { createServer, type IncomingMessage, type Server, type ServerResponse, request as sendOn } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** What the proxy was asked. */
export interface Asked {
  readonly method: string;
  /** `host:port` of a CONNECT, else the URL. */
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
}

/**
 * `hang`: it never answers. `cut`: it ends the connection in place of an answer. `cut tunnel`: it makes the tunnel, and ends it with the first
 * bytes from the target. A number: it answers that status, and passes nothing on.
 */
export type ProxyFault = 'hang' | 'cut' | 'cut tunnel' | number;

export class HttpProxy {
  readonly asked: Asked[] = [];
  /** Where names lead: ports of this machine. A name that is not here leads to itself if it is an address of this machine, else nowhere (502). */
  readonly names = new Map<string, number>();
  connections = 0;
  fault: ProxyFault | null = null;
  readonly #server: Server;
  readonly #scheme: 'http' | 'https';
  readonly #credentials: string | null;
  readonly #sockets = new Set<Duplex>();

  private constructor(server: Server, scheme: 'http' | 'https', credentials: string | null) {
    this.#server = server;
    this.#scheme = scheme;
    this.#credentials = credentials;
    server.on('connection', (socket: Socket) => {
      this.connections++;
      this.#keep(socket);
    });
    server.on('connect', (request: IncomingMessage, socket: Duplex) => this.#tunnel(request, socket));
    server.on('request', (request: IncomingMessage, response: ServerResponse) => this.#forward(request, response));
  }

  /** At a free port of loopback. `credentials`: what clients must show, `name:password`. */
  static async start(
    options: { credentials?: string; certificate?: { cert: string; key: string }; port?: number } = {},
  ): Promise<HttpProxy> {
    const { credentials = null, certificate, port = 0 } = options;
    const server = certificate === undefined ? createServer() : createTlsServer(certificate);
    const proxy = new HttpProxy(server, certificate === undefined ? 'http' : 'https', credentials);
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
    return proxy;
  }

  /** `127.0.0.1:port`. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** As operators configure it. */
  url(credentials = ''): string {
    return `${this.#scheme}://${credentials === '' ? '' : `${credentials}@`}${this.host}`;
  }

  get targets(): string[] {
    return this.asked.map(({ method, target }) => `${method} ${target}`);
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #keep(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
  }

  /** The status that it answers in place of passing on; null where it passes on, or does nothing more. */
  #refusal({ method = '', url = '', headers, socket }: IncomingMessage): number | null | 'done' {
    this.asked.push({ method, target: url, headers });
    if (this.fault === 'hang') return 'done';
    if (this.fault === 'cut') {
      socket.destroy();
      return 'done';
    }
    const wanted = this.#credentials;
    const right = wanted === null ? null : `Basic ${Buffer.from(wanted).toString('base64')}`;
    if (right !== null && headers['proxy-authorization'] !== right) return 407;
    return typeof this.fault === 'number' ? this.fault : null;
  }

  #portOf(hostname: string, port: string): number | null {
    const named = this.names.get(hostname);
    if (named !== undefined) return named;
    return hostname === '127.0.0.1' || hostname === 'localhost' ? Number(port) : null;
  }

  #tunnel(request: IncomingMessage, socket: Duplex): void {
    this.#keep(socket);
    const refused = this.#refusal(request);
    if (refused === 'done') return;
    const { hostname, port } = new URL(`https://${request.url ?? ''}`);
    const at = this.#portOf(hostname, port || '443');
    const status = refused ?? (at === null ? 502 : null);
    if (status !== null) {
      socket.end(`HTTP/1.1 ${status} No\r\nproxy-authenticate: Basic realm="test"\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const target = connect({ host: 'localhost', port: at ?? 0 });
    this.#keep(target);
    target.on('connect', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(target);
      if (this.fault === 'cut tunnel') target.once('data', () => socket.destroy());
      else target.pipe(socket);
    });
    target.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n'));
    target.on('close', () => socket.destroy());
    socket.on('close', () => target.destroy());
  }

  #forward(request: IncomingMessage, response: ServerResponse): void {
    const refused = this.#refusal(request);
    if (refused === 'done') return;
    const url = URL.parse(request.url ?? '');
    const at = url === null ? null : this.#portOf(url.hostname, url.port || '80');
    const status = refused ?? (at === null ? 502 : null);
    if (url === null || status !== null) {
      response.writeHead(status ?? 400, { 'proxy-authenticate': 'Basic realm="test"' }).end('from the proxy');
      return;
    }
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const path = `${url.pathname}${url.search}`;
    const onward = sendOn(
      { host: 'localhost', port: at ?? 0, method: request.method, path, headers, maxHeaderSize: 100_000 },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
        if (this.fault === 'cut tunnel') answer.once('data', () => response.destroy());
      },
    );
    onward.on('error', () => response.writeHead(502).end());
    request.pipe(onward);
  }
}
