import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(100, 1)]);

/** Serves logos, and what pretends to be one. */
export class Logos {
  url = '';
  requests = 0;
  readonly #server: Server = createServer((request, response) => {
    this.requests++;
    const files: Record<string, [number, Record<string, string>, Buffer]> = {
      '/logo.png': [200, { 'content-type': 'image/png' }, PNG],
      '/page.png': [200, { 'content-type': 'image/png' }, Buffer.from('<html><script>alert(1)</script>')],
      '/logo.svg': [200, { 'content-type': 'image/svg+xml' }, Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
      '/large.png': [200, { 'content-type': 'image/png' }, Buffer.concat([PNG, Buffer.alloc(512 * 1024)])],
      '/elsewhere.png': [302, { location: '/logo.png' }, Buffer.alloc(0)],
    };
    const [status, headers, body] = files[request.url ?? ''] ?? [404, {}, Buffer.alloc(0)];
    response.writeHead(status, headers).end(body);
  });
  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
