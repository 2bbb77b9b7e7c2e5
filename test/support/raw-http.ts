import net from 'node:net';

/** An answer as it came over the wire. `status` 0: the connection ended without one. */
export interface RawHttpAnswer {
  status: number;
  head: string;
  body: string;
}

const HEAD_END = '\r\n\r\n';

/** A connection that sends requests byte by byte as they are, one after the other, and reads their answers. */
export class RawConnection {
  readonly #port: number;
  #socket: net.Socket | undefined;
  #received = '';
  #wake: () => void = () => undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** One whole request; `bodiless` for HEAD. A stream's answer ends with its head, and with the connection. */
  async send(bytes: Buffer, { bodiless = false }: { bodiless?: boolean } = {}): Promise<RawHttpAnswer> {
    const socket = this.#open();
    socket.write(bytes);
    let head = await this.#until(HEAD_END);
    // An interim answer does not count.
    while (head !== null && /^HTTP\/1\.1 1\d\d /.test(head)) head = await this.#until(HEAD_END);
    if (head === null) return this.#ended('');
    const status = Number(head.split(' ', 2)[1]);
    const answer = { status, head, body: '' };
    if (bodiless || status === 204 || status === 304) return this.#finish(answer);
    if (/\r\ncontent-type: text\/event-stream/i.test(head)) {
      this.close();
      return answer;
    }
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    const body = length === undefined ? await this.#chunks() : await this.#bytes(Number(length));
    return body === null ? this.#ended(head) : this.#finish({ ...answer, body });
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#received = '';
  }

  #open(): net.Socket {
    if (this.#socket !== undefined && !this.#socket.destroyed && this.#socket.writable) return this.#socket;
    this.#received = '';
    const socket = net.connect(this.#port, '127.0.0.1');
    this.#socket = socket;
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (text: string) => {
      if (this.#socket !== socket) return;
      this.#received += text;
      this.#wake();
    });
    const over = (): void => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#wake();
    };
    // Whatever ends it, there is no more to read.
    socket.on('error', over).on('end', over).on('close', over);
    return socket;
  }

  #finish(answer: RawHttpAnswer): RawHttpAnswer {
    if (/\r\nconnection: close/i.test(answer.head)) this.close();
    return answer;
  }

  #ended(head: string): RawHttpAnswer {
    const body = this.#received;
    this.close();
    return { status: 0, head, body };
  }

  async #until(mark: string): Promise<string | null> {
    for (;;) {
      const at = this.#received.indexOf(mark);
      if (at >= 0) return this.#take(at + mark.length).slice(0, at);
      if (!(await this.#more())) return null;
    }
  }

  async #bytes(count: number): Promise<string | null> {
    while (this.#received.length < count) if (!(await this.#more())) return null;
    return this.#take(count);
  }

  async #chunks(): Promise<string | null> {
    let body = '';
    for (;;) {
      const line = await this.#until('\r\n');
      if (line === null) return null;
      const size = Number.parseInt(line, 16);
      const chunk = await this.#bytes(size + 2);
      if (chunk === null) return null;
      if (size === 0) return body;
      body += chunk.slice(0, -2);
    }
  }

  #take(count: number): string {
    const text = this.#received.slice(0, count);
    this.#received = this.#received.slice(count);
    return text;
  }

  async #more(): Promise<boolean> {
    const before = this.#received.length;
    if (this.#socket === undefined) return false;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    return this.#received.length > before;
  }
}
