/** The progress of a long apply, on stderr: one rewritten line on a terminal, a line now and then in a log. */

import type { Clock } from '../base/clock.ts';
import type { Output } from './io.ts';

const REWRITE_MS = 100;
const LINE_MS = 5000;

export class ProgressLine {
  readonly #output: Output;
  readonly #clock: Clock;
  readonly #label: string;
  #last: number;
  #open = false;

  constructor(output: Output, clock: Clock, label: string) {
    this.#output = output;
    this.#clock = clock;
    this.#label = label;
    this.#last = clock.monotonic();
  }

  update(done: number, total: number): void {
    const now = this.#clock.monotonic();
    const tty = this.#output.isTTY === true;
    if (now - this.#last < (tty ? REWRITE_MS : LINE_MS)) return;
    this.#last = now;
    const text = `${this.#label}: ${done} of ${total}`;
    this.#output.write(tty ? `\r\u001b[K${text}` : `${text}\n`);
    this.#open = tty;
  }

  /** Clears the line. */
  end(): void {
    if (this.#open) this.#output.write('\r\u001b[K');
    this.#open = false;
  }
}
