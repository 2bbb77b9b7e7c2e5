/** One process that answers gRPC beside others, as the process that started it sees it. */

import cluster, { type Worker } from 'node:cluster';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import { unavailable } from '../base/errors.ts';
import type { ToReload } from './tls-files.ts';

/** The values of one metric. */
export type Metric = MetricObjectWithValues<MetricValue<string>>;

/** `start` is the first message. `close`: finish the calls in flight and exit. The others are answered. */
export type ToRpcProcess =
  | ({ readonly kind: 'start'; readonly number: number } & ToReload)
  | ({ readonly kind: 'reload'; readonly id: number } & ToReload)
  | { readonly kind: 'close' }
  | { readonly kind: 'status' | 'metrics'; readonly id: number };

/** What a process says of itself: whether its engine follows the database. */
export interface RpcStatus {
  readonly ready: boolean;
}

export type FromRpcProcess =
  /** It listens. */
  | { readonly kind: 'listening' }
  /** It cannot; the message is for the operator. */
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: RpcStatus | readonly Metric[] | null };

/** How long an answer may take. */
const ANSWER_MS = 2000;
/** The same of a reload; a process that starts answers when its engine has been built. */
const RELOAD_MS = 10_000;

export class RpcProcess {
  readonly #worker: Worker;
  readonly #listening = Promise.withResolvers<void>();
  readonly #asked = new Map<number, (answer: never) => void>();
  #asks = 0;
  /** Whether it has begun to listen. */
  isListening = false;

  /** Settings of node:cluster are made before (rpc-processes.ts). */
  constructor(given: ToReload, number: number) {
    this.#worker = cluster.fork();
    this.#listening.promise.catch(() => undefined);
    this.#worker.on('message', (message: FromRpcProcess) => this.#receive(message));
    this.#worker.once('exit', (code, signal) => {
      this.#listening.reject(unavailable(`A gRPC process ended at its start (${signal ?? code}).`));
    });
    // A process that is gone cannot be sent anything; its exit follows.
    this.#worker.on('error', () => undefined);
    this.#send({ kind: 'start', ...given, number });
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
  }

  /** Resolves when it listens. Rejects with UsherError UNAVAILABLE when it cannot. */
  get listening(): Promise<void> {
    return this.#listening.promise;
  }

  onExit(told: (how: number | string) => void): void {
    this.#worker.once('exit', (code, signal) => told(signal ?? code));
  }

  /** Rejects with UsherError UNAVAILABLE when there is no answer in time. */
  status(): Promise<RpcStatus> {
    return this.#ask<RpcStatus>((id) => ({ kind: 'status', id }));
  }

  metrics(): Promise<readonly Metric[]> {
    return this.#ask<readonly Metric[]>((id) => ({ kind: 'metrics', id }));
  }

  /** Resolves when the process has taken it, and admits nobody by a key that is gone. */
  async reload(next: ToReload): Promise<void> {
    // One that starts has been given what counted then, and takes this before it listens.
    await this.#ask<null>((id) => ({ kind: 'reload', id, ...next }), RELOAD_MS);
  }

  /** Resolves when the process has ended: calls in flight finish, for at most `boundMs`. */
  async close(boundMs: number): Promise<void> {
    if (this.#worker.isDead()) return;
    // Not `once` of node:events: a message to a process that has just ended is an error there.
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve));
    if (this.isListening) this.#send({ kind: 'close' });
    else this.kill();
    // This timer keeps the primary process alive, which otherwise could end before it.
    const timer = setTimeout(() => this.kill(), boundMs);
    await ended;
    clearTimeout(timer);
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  #receive(message: FromRpcProcess): void {
    switch (message.kind) {
      case 'listening':
        this.isListening = true;
        this.#listening.resolve();
        return;
      case 'failed':
        this.#listening.reject(unavailable(message.message));
        return;
      case 'answer':
        this.#asked.get(message.id)?.(message.answer as never);
        this.#asked.delete(message.id);
        return;
      default:
    }
  }

  #ask<Answer>(question: (id: number) => ToRpcProcess, answerMs = ANSWER_MS): Promise<Answer> {
    const id = ++this.#asks;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#asked.delete(id);
        reject(unavailable('A gRPC process does not answer.'));
      }, answerMs);
      this.#asked.set(id, (answer: Answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      this.#send(question(id));
    });
  }

  #send(message: ToRpcProcess): void {
    if (this.#worker.isConnected()) this.#worker.send(message);
  }
}
