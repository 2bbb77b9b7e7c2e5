/** Reads a manifest off the event loop, in worker.ts. */

import { Worker } from 'node:worker_threads';
import { UsherError } from '../../base/errors.ts';
import { reasonOf } from '../../base/wait.ts';
import { workerUrl } from '../../base/worker-url.ts';
import type { Examined } from './examine.ts';
import type { Manifest, Section } from './format.ts';
import type { Reply } from './worker.ts';

/** Reading fewer characters than this is faster than starting a thread (unless aliases multiply values). */
const SHORT = 8 * 1024;
/** Enough for any honest manifest of 32 MiB. */
const LIMITS = { heapMb: 1024, ms: 120_000 } as const;

/**
 * Reads `text`. Rejects with PAYLOAD_TOO_LARGE when it takes more memory or time than an honest manifest, and with the
 * signal's reason when that is aborted.
 */
export async function parseManifest(text: string, signal?: AbortSignal): Promise<Examined> {
  signal?.throwIfAborted();
  if (text.length <= SHORT && !text.includes('*')) {
    // The YAML library is loaded with the first manifest: starts and most requests do not need it.
    const { examine } = await import('./examine.ts');
    signal?.throwIfAborted();
    return examine(text);
  }
  return await parseInThread(text, signal);
}

async function parseInThread(text: string, signal: AbortSignal | undefined): Promise<Examined> {
  const worker = new Worker(workerUrl(import.meta.url, 'worker'), {
    workerData: text,
    resourceLimits: { maxOldGenerationSizeMb: LIMITS.heapMb },
    env: {},
    stdin: false,
  });
  const { promise, resolve, reject } = Promise.withResolvers<Examined>();
  const timer = setTimeout(() => reject(tooMuch('takes too long to read')), LIMITS.ms);
  const aborted = (): void => reject(reasonOf(signal));
  signal?.addEventListener('abort', aborted, { once: true });
  const collected = new Collected();
  worker.on('message', (reply: Reply) => {
    if (reply.kind === 'end') resolve(collected.examined());
    else {
      collected.take(reply);
      // The next slice in the next turn of the event loop, so that checks can run between two.
      setImmediate(() => worker.postMessage('next'));
    }
  });
  worker.on('error', (error: Error & { code?: string }) => {
    reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuch('takes too much memory to read') : error);
  });
  worker.on('exit', () => reject(new Error('the manifest reader exited before its answer')));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', aborted);
    await worker.terminate();
  }
}

function tooMuch(what: string): UsherError {
  return new UsherError('PAYLOAD_TOO_LARGE', `This manifest ${what}: split it into several, or send it as JSON.`);
}

/** Assembles the slices that the thread sends. */
class Collected {
  #frame: Extract<Reply, { kind: 'frame' }> | null = null;
  readonly #rows = new Map<Section, unknown[]>();

  take(reply: Exclude<Reply, { kind: 'end' }>): void {
    if (reply.kind === 'slice') this.#rows.get(reply.section)?.push(...reply.rows);
    else {
      this.#frame = reply;
      for (const section of reply.frame?.present ?? []) this.#rows.set(section, []);
    }
  }

  examined(): Examined {
    if (this.#frame === null) throw new Error('the manifest reader sent no frame');
    const { frame, issues, places } = this.#frame;
    if (frame === null) return { manifest: null, issues, places };
    const { present: _, ...rest } = frame;
    // The thread sends the result of `readManifest`; only its types are lost on the way.
    return { manifest: { ...ABSENT, ...rest, ...Object.fromEntries(this.#rows) } as Manifest, issues, places };
  }
}

const ABSENT: Record<Section, null> = {
  entities: null,
  permissions: null,
  roles: null,
  notificationTypes: null,
  templates: null,
  admins: null,
  assignments: null,
  overrides: null,
};
