/** A client of node's inspector, as far as profiles need it. */

interface CallFrame {
  functionName: string;
  url: string;
  lineNumber: number;
}

interface CpuProfile {
  nodes: { id: number; callFrame: CallFrame; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
}

interface AllocationNode {
  callFrame: CallFrame;
  selfSize: number;
  children: AllocationNode[];
}

/** Something spent in one function: microseconds or bytes. */
export interface Spent {
  name: string;
  file: string;
  amount: number;
}

type Pending = PromiseWithResolvers<Record<string, unknown>>;

export class Inspector {
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, Pending>();
  #id = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', (event) => {
      const message = JSON.parse(String(event.data)) as {
        id?: number;
        error?: { message: string };
        result: Record<string, unknown>;
      };
      if (message.id === undefined) return;
      const pending = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      if (message.error) pending?.reject(new Error(message.error.message));
      else pending?.resolve(message.result);
    });
  }

  /** Connects to a process started with `--inspect=127.0.0.1:port`. */
  static async connect(port: number): Promise<Inspector> {
    const list = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
      webSocketDebuggerUrl: string;
    }[];
    const socket = new WebSocket(list[0]?.webSocketDebuggerUrl ?? '');
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true });
      socket.addEventListener('error', () => reject(new Error('the inspector cannot be reached')), { once: true });
    });
    return new Inspector(socket);
  }

  /** The CPU profile of `work`, as V8 gives it, and the microseconds that each function took itself. */
  async cpu(work: () => Promise<void>): Promise<{ raw: unknown; spent: Spent[] }> {
    await this.#send('Profiler.enable');
    await this.#send('Profiler.setSamplingInterval', { interval: 200 });
    await this.#send('Profiler.start');
    await work();
    const profile = (await this.#send('Profiler.stop')).profile as CpuProfile;
    const nodes = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
    const sums = new Map<string, Spent>();
    profile.samples.forEach((id, i) => {
      const frame = nodes.get(id);
      // Waiting for the socket is no work.
      if (frame && frame.functionName !== '(idle)') add(sums, frame, profile.timeDeltas[i] ?? 0);
    });
    return { raw: profile, spent: [...sums.values()] };
  }

  /** The bytes that each function allocated during `work`, sampled, also what was collected meanwhile. */
  async allocations(work: () => Promise<void>): Promise<Spent[]> {
    await this.#send('HeapProfiler.startSampling', {
      samplingInterval: 16_384,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await work();
    const { profile } = (await this.#send('HeapProfiler.stopSampling')) as { profile: { head: AllocationNode } };
    const sums = new Map<string, Spent>();
    const open = [profile.head];
    for (let node = open.pop(); node; node = open.pop()) {
      add(sums, node.callFrame, node.selfSize);
      open.push(...node.children);
    }
    return [...sums.values()];
  }

  close(): void {
    this.#socket.close();
  }

  #send(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = ++this.#id;
    const pending: Pending = Promise.withResolvers();
    this.#pending.set(id, pending);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return pending.promise;
  }
}

function add(sums: Map<string, Spent>, frame: CallFrame, amount: number): void {
  const file = shortName(frame.url);
  const name = `${frame.functionName || '(anonymous)'} ${file}${file === '' ? '' : `:${frame.lineNumber + 1}`}`;
  const spent = sums.get(name) ?? { name, file: file === '' ? frame.functionName : file, amount: 0 };
  spent.amount += amount;
  sums.set(name, spent);
}

function shortName(url: string): string {
  const at = url.lastIndexOf('/node_modules/');
  if (at >= 0) return url.slice(at + '/node_modules/'.length);
  const root = new URL('..', import.meta.url).href;
  return url.startsWith(root) ? url.slice(root.length) : url;
}
