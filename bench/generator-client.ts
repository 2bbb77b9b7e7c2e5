/** The orchestrator's side of the generator process. */
import type { ChildProcess } from 'node:child_process';
import type { GeneratorCommand, GeneratorReply, OpenOptions } from './generator.ts';
import { CORES, spawnPinned, stop } from './processes.ts';
import type { SliceOptions, SliceResult } from './slice.ts';

type Body<T> = T extends unknown ? Omit<T, 'id'> : never;

export class Generator {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, PromiseWithResolvers<GeneratorReply>>();
  #id = 0;

  constructor() {
    const file = new URL('./generator.ts', import.meta.url).pathname;
    this.#child = spawnPinned(CORES.generator, ['--max-semi-space-size=16', file], { ipc: true });
    this.#child.on('message', (reply: GeneratorReply) => {
      const pending = this.#pending.get(reply.id);
      this.#pending.delete(reply.id);
      if (reply.error !== undefined) pending?.reject(new Error(reply.error));
      else pending?.resolve(reply);
    });
    this.#child.on('exit', (code) => {
      for (const pending of this.#pending.values()) pending.reject(new Error(`the generator ended with ${code}`));
    });
  }

  /** Opens connections to a server; resolves to how many questions the workload has. */
  async open(options: OpenOptions): Promise<number> {
    return (await this.#call({ command: 'open', options })).size ?? 0;
  }

  /** Runs one slice. Wrong and failed answers are in the result: see `assertRight`. */
  async slice(target: string, options: Partial<SliceOptions> & { inFlight: number }): Promise<SliceResult> {
    const defaults: SliceOptions = {
      inFlight: options.inFlight,
      order: 'random',
      durationMs: 1000,
      from: 0,
      to: 0,
      seed: this.#id + 1,
    };
    const reply = await this.#call({ command: 'slice', target, options: { ...defaults, ...options } });
    if (!reply.slice) throw new Error('the generator answered without a result');
    return assertRight(reply.slice);
  }

  async close(target: string): Promise<void> {
    await this.#call({ command: 'close', target });
  }

  async end(): Promise<void> {
    await stop(this.#child);
  }

  #call(body: Body<GeneratorCommand>): Promise<GeneratorReply> {
    const id = ++this.#id;
    const pending = Promise.withResolvers<GeneratorReply>();
    this.#pending.set(id, pending);
    this.#child.send({ id, ...body });
    return pending.promise;
  }
}

/** A benchmark of wrong answers is worth nothing: it ends here. */
export function assertRight(result: SliceResult): SliceResult {
  if (result.wrong + result.failed > 0) {
    const examples = result.examples.map((e) => `\n  ${e}`).join('');
    throw new Error(`${result.wrong} wrong and ${result.failed} failed of ${result.answers} answers:${examples}`);
  }
  return result;
}
