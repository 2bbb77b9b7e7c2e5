/** Exports, off the event loop where they are long: a text of megabytes takes seconds to write, which would delay checks. */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { reasonOf } from '../../base/wait.ts';
import { workerUrl } from '../../base/worker-url.ts';
import type { WriteOptions } from './export.ts';
import { Gathered, type PeoplePage } from './gathered.ts';
import type { Catalog } from './state.ts';

export type { ExportFormat } from './export.ts';
export type ExportPiece = PeoplePage;

/** Up to this many rows are written faster than a thread starts. */
const SHORT = 500;

interface ExportParts extends WriteOptions {
  readonly catalog: Catalog & { application: NonNullable<Catalog['application']> };
  /** Everybody in the application. Read here, so that rows need not be in memory twice. */
  readonly people: AsyncIterable<PeoplePage>;
  readonly signal?: AbortSignal | undefined;
}

/** An export that has all of its rows, and is still to be written: the transaction that read them may end before. */
export interface GatheredExport {
  /** The bytes of the text. Rejects with the signal's reason when that is aborted. */
  write(): Promise<Uint8Array>;
  /** Gives it up. */
  end(): Promise<void>;
}

/** Reads everybody. */
export async function gatherExport({ catalog, people, signal, ...options }: ExportParts): Promise<GatheredExport> {
  const first: PeoplePage[] = [];
  const { entities, permissions, roles, notificationTypes, templates } = catalog;
  let rows = [entities, permissions, roles, notificationTypes, templates].reduce((sum, { size }) => sum + size, 0);
  let thread: ExportThread | null = null;
  try {
    for await (const page of people) {
      signal?.throwIfAborted();
      rows += page.rows.length;
      if (thread === null && rows > SHORT) {
        thread = new ExportThread(catalog, options);
        for (const piece of first.splice(0)) thread.take(piece);
      }
      if (thread === null) first.push(page);
      else thread.take(page);
    }
  } catch (error) {
    await thread?.end();
    throw error;
  }
  if (thread !== null) return new InThread(thread, signal);
  const write = async (): Promise<Uint8Array> => {
    const gathered = new Gathered();
    for (const piece of first) gathered.take(piece);
    const { writeManifest } = await import('./export.ts');
    return new TextEncoder().encode(await writeManifest(catalog, gathered, options));
  };
  return { write, end: () => Promise.resolve() };
}

class ExportThread {
  readonly #worker: Worker;
  readonly #failed: Promise<never>;

  constructor(catalog: ExportParts['catalog'], options: WriteOptions) {
    this.#worker = new Worker(workerUrl(import.meta.url, 'export-worker'), {
      workerData: { catalog, ...options },
      env: {},
      stdin: false,
    });
    this.#failed = new Promise((_, reject) => {
      this.#worker.once('error', reject);
      this.#worker.once('exit', () => reject(new Error('the thread of an export ended before its answer')));
    });
    // The one that waits for the answer is told.
    this.#failed.catch(() => undefined);
  }

  take(piece: PeoplePage): void {
    this.#worker.postMessage(piece);
  }

  async finish(): Promise<Uint8Array> {
    const answered = once(this.#worker, 'message') as Promise<[Uint8Array]>;
    answered.catch(() => undefined);
    this.#worker.postMessage('end');
    const [bytes] = await Promise.race([answered, this.#failed]);
    return bytes;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

class InThread implements GatheredExport {
  readonly #thread: ExportThread;
  readonly #signal: AbortSignal | undefined;

  constructor(thread: ExportThread, signal: AbortSignal | undefined) {
    this.#thread = thread;
    this.#signal = signal;
  }

  async write(): Promise<Uint8Array> {
    const { promise: gone, reject } = Promise.withResolvers<never>();
    const leave = (): void => reject(reasonOf(this.#signal));
    this.#signal?.addEventListener('abort', leave, { once: true });
    try {
      this.#signal?.throwIfAborted();
      return await Promise.race([this.#thread.finish(), gone]);
    } finally {
      this.#signal?.removeEventListener('abort', leave);
      await this.end();
    }
  }

  end(): Promise<void> {
    return this.#thread.end();
  }
}
