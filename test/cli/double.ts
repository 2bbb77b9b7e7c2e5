import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  method: string;
  url: string;
  headers: Record<string, unknown>;
  body: string;
}

export interface Answer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Something that answers as a service does, for what a service cannot be made to do: told answers, recorded requests. */
export class Double {
  readonly received: Received[] = [];
  /** What it answers; a test sets it. */
  answer: (request: Received) => Answer = () => ({ status: 200, body: {} });
  readonly #server: Server;

  constructor() {
    this.#server = createServer((req, res) => {
      let body = '';
      req.on('data', (chunk: Buffer) => {
        body += chunk.toString('utf8');
      });
      req.on('end', () => {
        const request = { method: req.method ?? '', url: req.url ?? '', headers: req.headers, body };
        this.received.push(request);
        const { status, body: answer, headers = {} } = this.answer(request);
        res.writeHead(status, { 'content-type': 'application/json', ...headers });
        res.end(answer === undefined ? undefined : JSON.stringify(answer));
      });
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): Promise<unknown> {
    return new Promise((resolve) => this.#server.close(resolve));
  }
}

/** An error body as the service writes it. */
export function refusal(status: number, code: string, reason?: string): Answer {
  return {
    status,
    body: { success: false, code, message: `No: ${reason ?? code}.`, details: reason && { code: reason } },
  };
}
