import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An application that keeps records, on a port of this machine. */
export class Keeper {
  readonly requests: IncomingMessage[] = [];
  answer: RequestListener = (_request, response) => response.end('[]');
  readonly #server: Server = createServer((request, response) => {
    this.requests.push(request);
    this.answer(request, response);
  });

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  json(body: unknown): void {
    this.answer = (_request, response) => response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  close(): Promise<unknown> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(resolve));
  }
}
