/** Runs worker.ts: the manifest of a text, read beside the event loop. */

import { Worker } from 'node:worker_threads';
import { UsherError } from '../../base/errors.ts';
import { programBeside } from '../../base/worker-url.ts';
import type { Examined, ManifestIssue } from './examine.ts';
import type { Fault, Manifest, Section } from './format.ts';
import type { Frame, Reply } from './worker.ts';

/** Starting a thread takes longer than reading so many characters (but for what aliases can multiply). */
const SHORT = 8 * 1024;
/** Enough for 32 MiB written like any manifest; what needs more is hostile. */
const LIMITS = { heapMb: 1024, ms: 120_000 } as const;

/**
 * Reads `text`, and places `more` (faults found in the database) in it. Rejects with PAYLOAD_TOO_LARGE when it takes more
 * memory or time than any honest manifest, and with the signal's reason when that is aborted.
 */
export async function parseManifest(
  text: string,
  more: readonly Fault[] = [],
  signal?: AbortSignal,
): Promise<Examined> {
  signal?.throwIfAborted();
  if (text.length <= SHORT && !text.includes('*')) {
    // YAML with the first manifest: a start, and most of what the service does, goes without.
    const { examine } = await import('./examine.ts');
    signal?.throwIfAborted();
    return examine(text, more);
  }
  return await parseInThread(text, more, signal);
}

async function parseInThread(text: string, more: readonly Fault[], signal: AbortSignal | undefined): Promise<Examined> {
  const worker = new Worker(programBeside(import.meta.url, 'worker'), {
    workerData: { text, more },
    resourceLimits: { maxOldGenerationSizeMb: LIMITS.heapMb },
    env: {},
    stdin: false,
  });
  const { promise, resolve, reject } = Promise.withResolvers<Examined>();
  const timer = setTimeout(() => reject(tooMuch('takes too long to read')), LIMITS.ms);
  const aborted = (): void => reject(signal?.reason as Error);
  signal?.addEventListener('abort', aborted, { once: true });
  const collected = new Collected();
  worker.on('message', (reply: Reply) => {
    if (reply.kind === 'end') resolve(collected.examined());
    else {
      collected.take(reply);
      // The next slice in the next turn, so that a check can be answered between two.
      setImmediate(() => worker.postMessage('next'));
    }
  });
  worker.on('error', (error: Error & { code?: string }) => {
    reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuch('takes too much memory to read') : error);
  });
  worker.on('exit', () => reject(new Error('the reader of manifests ended before its answer')));
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

class Collected {
  #frame: Frame | null = null;
  #issues: ManifestIssue[] = [];
  readonly #rows = new Map<Section, unknown[]>();

  take(reply: Exclude<Reply, { kind: 'end' }>): void {
    if (reply.kind === 'slice') this.#rows.get(reply.section)?.push(...reply.rows);
    else {
      this.#frame = reply.frame;
      this.#issues = [...reply.issues];
      for (const section of reply.frame?.present ?? []) this.#rows.set(section, []);
    }
  }

  examined(): Examined {
    if (this.#frame === null) return { manifest: null, issues: this.#issues };
    const { application, spoiled } = this.#frame;
    // What the thread sent is what `readManifest` made: its types are lost on the way, not its values.
    const section = <Name extends Section>(name: Name) => (this.#rows.get(name) ?? null) as Manifest[Name];
    return {
      issues: this.#issues,
      manifest: {
        application,
        spoiled,
        entities: section('entities'),
        permissions: section('permissions'),
        roles: section('roles'),
        notificationTypes: section('notificationTypes'),
        templates: section('templates'),
        admins: section('admins'),
        assignments: section('assignments'),
        overrides: section('overrides'),
      },
    };
  }
}
