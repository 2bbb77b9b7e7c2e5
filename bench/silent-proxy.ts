/** A TCP proxy before PostgreSQL that passes everything on but notifications: LISTEN dead in silence. */
import { LineCutter } from '../test/support/proxy.ts';

const NOTIFICATION = 'A'.charCodeAt(0);
/** Type byte and length. */
const HEAD = 5;

export class SilentProxy {
  readonly #line: LineCutter;
  readonly #swallowed: { count: number };

  private constructor(line: LineCutter, swallowed: { count: number }) {
    this.#line = line;
    this.#swallowed = swallowed;
  }

  static async start(target: URL): Promise<SilentProxy> {
    const swallowed = { count: 0 };
    const answers = () => withoutNotifications(() => swallowed.count++);
    return new SilentProxy(await LineCutter.start(target.href, { answers }), swallowed);
  }

  get port(): number {
    return this.#line.port;
  }

  /** How many notifications were swallowed: none would mean that nothing was tested. */
  get dropped(): number {
    return this.#swallowed.count;
  }

  close(): Promise<void> {
    return this.#line.close();
  }
}

/** Passes the messages of one line on, whole ones, but for notifications. */
function withoutNotifications(swallow: () => void): (bytes: Buffer) => Buffer {
  let held: Buffer = Buffer.alloc(0);
  return (bytes) => {
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
        swallow();
      }
      at = end;
    }
    out.push(held.subarray(passed, at));
    held = held.subarray(at);
    return Buffer.concat(out);
  };
}
