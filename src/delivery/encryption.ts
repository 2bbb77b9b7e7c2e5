/**
 * Encrypts pushes: a few of them here, one a turn of the event loop; crowds in a thread, which is started for them and ends when
 * they have gone. The thread costs some megabytes, and leaves this one to whoever asks for permissions.
 */

import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import { programBeside } from '../base/worker-url.ts';
import { type Encrypted, encryptPush, type Recipient } from './encrypt.ts';
import type { Done, Job } from './encrypt-thread.ts';

/** So many that wait are worth a thread. */
const CROWD = 16;
/** Without work it ends after this; one that failed is not tried again for as long. */
const IDLE_MS = 60_000;
/** Megabytes: it holds what a few dozen pushes hold. */
const MEMORY = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 } as const;

interface Waiting extends Omit<Job, 'id'> {
  readonly resolve: (encrypted: Encrypted) => void;
  readonly reject: (error: Error) => void;
}

export interface PushEncryptionParts {
  clock: Pick<Clock, 'after' | 'monotonic'>;
  log: Logger;
}

export class PushEncryption {
  readonly #parts: PushEncryptionParts;
  /** Nobody is at them yet. */
  #waiting: Waiting[] = [];
  /** What the thread is at, by number. */
  readonly #asked = new Map<number, Waiting>();
  #number = 0;
  #thread: Worker | undefined;
  /** It has said so: what comes goes there. */
  #ready = false;
  #encrypting = false;
  #posting = false;
  #usedAt = 0;
  #notBefore = Number.NEGATIVE_INFINITY;

  constructor(parts: PushEncryptionParts) {
    this.#parts = parts;
  }

  /** Rejects for keys that are none. */
  encrypt({ endpoint, p256dh, auth }: Recipient, payload: string): Promise<Encrypted> {
    const { promise, resolve, reject } = Promise.withResolvers<Encrypted>();
    this.#waiting.push({ recipient: { endpoint, p256dh, auth }, payload, resolve, reject });
    if (this.#ready) this.#post();
    else {
      if (this.#waiting.length >= CROWD) this.#start();
      void this.#encryptHere();
    }
    return promise;
  }

  /** Whether there is a thread. */
  get threaded(): boolean {
    return this.#thread !== undefined;
  }

  /** Whether it has work to do from now on. */
  get ready(): boolean {
    return this.#ready;
  }

  /** Ends the thread; what it was at is done here. */
  async close(): Promise<void> {
    this.#notBefore = Number.POSITIVE_INFINITY;
    const thread = this.#thread;
    this.#ended(thread);
    await thread?.terminate();
  }

  /** One a turn: dozens begin together, and each holds the loop for a third of a millisecond. */
  async #encryptHere(): Promise<void> {
    if (this.#encrypting) return;
    this.#encrypting = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      try {
        next.resolve(encryptPush(next.recipient, next.payload));
      } catch (error) {
        next.reject(unencrypted((error as Error).message));
      }
      await setImmediate();
    }
    this.#encrypting = false;
  }

  /** All of this turn travels together. */
  #post(): void {
    if (this.#posting) return;
    this.#posting = true;
    queueMicrotask(() => {
      this.#posting = false;
      const thread = this.#thread;
      if (!this.#ready || thread === undefined) return void this.#encryptHere();
      this.#usedAt = this.#parts.clock.monotonic();
      const jobs = this.#waiting.splice(0).map((one) => {
        const id = ++this.#number;
        this.#asked.set(id, one);
        return { id, recipient: one.recipient, payload: one.payload } satisfies Job;
      });
      if (jobs.length > 0) thread.postMessage(jobs);
    });
  }

  #start(): void {
    if (this.#thread !== undefined || this.#parts.clock.monotonic() < this.#notBefore) return;
    const thread = new Worker(programBeside(import.meta.url, 'encrypt-thread'), {
      env: {},
      stdin: false,
      resourceLimits: MEMORY,
    });
    this.#thread = thread;
    this.#usedAt = this.#parts.clock.monotonic();
    thread.unref();
    thread.on('message', (done: readonly Done[]) => {
      if (this.#thread !== thread) return;
      if (!this.#ready) {
        this.#ready = true;
        this.#post();
      }
      for (const one of done) this.#take(one);
    });
    thread.on('error', (error) => this.#failed(thread, error));
    thread.on('exit', () => this.#failed(thread, new Error('it ended')));
    this.#watch(thread);
  }

  #take(done: Done): void {
    const asked = this.#asked.get(done.id);
    this.#asked.delete(done.id);
    if ('problem' in done) asked?.reject(unencrypted(done.problem));
    else asked?.resolve(done);
  }

  #failed(thread: Worker, error: Error): void {
    if (this.#thread !== thread) return;
    this.#parts.log.warn({ err: error }, 'pushes are encrypted without a thread of their own for now');
    this.#notBefore = this.#parts.clock.monotonic() + IDLE_MS;
    this.#ended(thread);
  }

  #ended(thread: Worker | undefined): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    this.#ready = false;
    this.#waiting = [...this.#asked.values(), ...this.#waiting];
    this.#asked.clear();
    void this.#encryptHere();
  }

  #watch(thread: Worker): void {
    this.#parts.clock.after(IDLE_MS, () => {
      if (this.#thread !== thread) return;
      if (this.#asked.size > 0 || this.#parts.clock.monotonic() - this.#usedAt < IDLE_MS) return this.#watch(thread);
      this.#ended(thread);
      void thread.terminate();
    });
  }
}

function unencrypted(problem: string): Error {
  return new Error(`A push cannot be encrypted: ${problem}`);
}
