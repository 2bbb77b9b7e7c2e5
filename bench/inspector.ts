/** A client of node's inspector, as far as profiles and measures of memory need it. */
import { closeSync, openSync, writeSync } from 'node:fs';

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
type Listener = (params: Record<string, unknown>) => void;

const GONE = 'the process, or its thread, has ended';

/** One conversation: with the main thread of a process, or by way of it with another one. */
class Session {
  readonly #write: (text: string) => void;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Map<string, Listener>();
  #id = 0;
  #ended = false;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  send(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = ++this.#id;
    const pending: Pending = Promise.withResolvers();
    if (this.#ended) pending.reject(new Error(GONE));
    else {
      this.#pending.set(id, pending);
      this.#write(JSON.stringify({ id, method, params }));
    }
    return pending.promise;
  }

  on(event: string, listener: Listener): void {
    this.#listeners.set(event, listener);
  }

  receive(text: string): void {
    const message = JSON.parse(text) as {
      id?: number;
      error?: { message: string };
      result: Record<string, unknown>;
      method?: string;
      params?: Record<string, unknown>;
    };
    if (message.id === undefined) {
      this.#listeners.get(message.method ?? '')?.(message.params ?? {});
      return;
    }
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.error) pending?.reject(new Error(message.error.message));
    else pending?.resolve(message.result);
  }

  /** Nobody waits for an answer that cannot come. */
  end(): void {
    this.#ended = true;
    for (const { reject } of this.#pending.values()) reject(new Error(GONE));
    this.#pending.clear();
  }
}

/** What is left of a process when its garbage has been collected, in bytes. */
export interface Held {
  readonly heap: number;
  /** The heaps of its other threads. */
  readonly threads: number;
  /** What objects of all threads hold beside the heaps, as far as V8 is told: buffers and others. */
  readonly external: number;
}

export class Inspector {
  readonly #socket: WebSocket;
  readonly #main: Session;
  readonly #threads = new Map<string, Session>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#main = new Session((text) => socket.send(text));
    socket.addEventListener('message', (event) => this.#main.receive(String(event.data)));
    socket.addEventListener('close', () => {
      for (const session of [this.#main, ...this.#threads.values()]) session.end();
    });
    this.#main.on('NodeWorker.attachedToWorker', ({ sessionId }) => this.#attached(String(sessionId)));
    this.#main.on('NodeWorker.receivedMessageFromWorker', ({ sessionId, message }) =>
      this.#threads.get(String(sessionId))?.receive(String(message)),
    );
    this.#main.on('NodeWorker.detachedFromWorker', ({ sessionId }) => {
      this.#threads.get(String(sessionId))?.end();
      this.#threads.delete(String(sessionId));
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

  /** From now on what is asked about the process is asked about its other threads too, also those that it starts later. */
  async withThreads(): Promise<void> {
    await this.#main.send('NodeWorker.enable', { waitForDebuggerOnStart: false });
  }

  async held(): Promise<Held> {
    const main = await heldBy(this.#main);
    const threads = await Promise.all([...this.#threads.values()].map(heldBy));
    const sum = (bytes: readonly number[]): number => bytes.reduce((a, b) => a + b, 0);
    return {
      heap: main.heap,
      threads: sum(threads.map(({ heap }) => heap)),
      external: main.external + sum(threads.map(({ external }) => external)),
    };
  }

  /** Writes `{stem}.heapsnapshot` and one of each other thread. The process stands still meanwhile. */
  async snapshot(stem: string): Promise<void> {
    await write(this.#main, `${stem}.heapsnapshot`);
    let number = 0;
    for (const session of this.#threads.values()) await write(session, `${stem}-thread-${++number}.heapsnapshot`);
  }

  /** The CPU profile of `work`, as V8 gives it, and the microseconds that each function took itself. */
  async cpu(work: () => Promise<void>): Promise<{ raw: unknown; spent: Spent[] }> {
    await this.#main.send('Profiler.enable');
    await this.#main.send('Profiler.setSamplingInterval', { interval: 200 });
    await this.#main.send('Profiler.start');
    await work();
    const profile = (await this.#main.send('Profiler.stop')).profile as CpuProfile;
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
    await this.#main.send('HeapProfiler.startSampling', {
      samplingInterval: 16_384,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await work();
    const { profile } = (await this.#main.send('HeapProfiler.stopSampling')) as { profile: { head: AllocationNode } };
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

  #attached(sessionId: string): void {
    const toThread = (message: string): void => {
      // It fails where the thread has just ended, which ends the session.
      this.#main.send('NodeWorker.sendMessageToWorker', { sessionId, message }).catch(() => session.end());
    };
    const session = new Session(toThread);
    this.#threads.set(sessionId, session);
  }
}

async function heldBy(session: Session): Promise<{ heap: number; external: number }> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize, backingStorageSize } = await session.send('Runtime.getHeapUsage');
  return { heap: Number(usedSize), external: Number(backingStorageSize) };
}

async function write(session: Session, file: string): Promise<void> {
  const handle = openSync(file, 'w');
  try {
    session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => writeSync(handle, String(chunk)));
    await session.send('HeapProfiler.takeHeapSnapshot');
  } finally {
    closeSync(handle);
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
