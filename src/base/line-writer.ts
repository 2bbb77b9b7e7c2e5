/** Lines to a file or to standard output, beside the work that they tell of: nothing waits for them, and what is too much is dropped. */

import { write } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Clock } from './clock.ts';
import { codeOf } from './members.ts';
import { FailureLog, type Logger } from './telemetry.ts';
import { sleep, within } from './wait.ts';

/** Characters that may wait to be written. */
const MAX_WAITING = 8 * 2 ** 20;
/** Of one write to a file. Standard output gets what a pipe takes whole: other writers have lines there, too. */
const CHUNK = { file: 64 * 1024, output: 4096 };
const AGAIN_MS = 1000;
/** A pipe without room. */
const FULL_MS = 20;
/** How often the name of the file is looked up: log rotation gives the open file another one. */
const LOOK_MS = 1000;
const CLOSE_MS = 2000;
const STANDARD_OUTPUT = 1;
/** Its owner writes and its group reads. */
const MODE = 0o640;

const writeOutput = promisify(write);

interface LineWriterParts {
  /** Null for standard output. */
  readonly path: string | null;
  readonly clock: Clock;
  readonly log: Logger;
  /** What is logged when lines cannot be written, and when they can again. */
  readonly failing: string;
  readonly working: string;
}

export class LineWriter {
  readonly #parts: LineWriterParts;
  readonly #failures: FailureLog;
  #file: FileHandle | null;
  #lookedAt: number;
  #waiting: string[] = [];
  /** Of those waiting and those being written. */
  #characters = 0;
  #rest: Buffer | null = null;
  /** Whether a part of it is written: the others follow into the same file, whatever its name is now. */
  #isTorn = false;
  #restLines = 0;
  #restCharacters = 0;
  #running: Promise<void> | null = null;
  readonly #closing = new AbortController();
  /** Lines written, and lines given up, since the start. */
  written = 0;
  dropped = 0;

  private constructor(parts: LineWriterParts, file: FileHandle | null) {
    this.#parts = parts;
    this.#failures = new FailureLog(parts);
    this.#file = file;
    this.#lookedAt = parts.clock.monotonic();
  }

  /** Rejects when the file cannot be opened. */
  static async open(parts: LineWriterParts): Promise<LineWriter> {
    return new LineWriter(parts, parts.path === null ? null : await openFile(parts.path));
  }

  /** `line` ends in a line break. It is dropped where too much waits already. */
  push(line: string): void {
    if (this.#characters + line.length > MAX_WAITING || this.#closing.signal.aborted) {
      this.dropped++;
      return;
    }
    this.#characters += line.length;
    this.#waiting.push(line);
    this.#running ??= this.#run();
  }

  /** Writes what waits, for a bounded time; drops the rest. */
  async close(): Promise<void> {
    if (this.#running !== null) await within(this.#parts.clock, CLOSE_MS, this.#running);
    this.#closing.abort();
    this.dropped += this.#waiting.length + this.#restLines;
    this.#waiting = [];
    await this.#file?.close();
  }

  async #run(): Promise<void> {
    const { clock } = this.#parts;
    const { signal } = this.#closing;
    // The lines of one turn leave together.
    await new Promise(setImmediate);
    while ((this.#waiting.length > 0 || this.#rest !== null) && !signal.aborted) {
      try {
        await this.#writeNext();
        this.#failures.succeeded();
      } catch (error) {
        const isFull = codeOf(error) === 'EAGAIN';
        if (!isFull && !signal.aborted) this.#failures.failed(error);
        await sleep(clock, isFull ? FULL_MS : AGAIN_MS, signal);
      }
    }
    this.#running = null;
  }

  /** One write. What a failure left of it is written next. */
  async #writeNext(): Promise<void> {
    if (!this.#isTorn) await this.#followName();
    const rest = this.#rest ?? this.#take();
    const { bytesWritten } = await (this.#file?.write(rest) ?? writeOutput(STANDARD_OUTPUT, rest));
    if (bytesWritten < rest.length) {
      this.#rest = rest.subarray(bytesWritten);
      this.#isTorn = true;
      return;
    }
    this.written += this.#restLines;
    this.#characters -= this.#restCharacters;
    this.#rest = null;
    this.#isTorn = false;
    this.#restLines = 0;
    this.#restCharacters = 0;
  }

  #take(): Buffer {
    const most = this.#file === null ? CHUNK.output : CHUNK.file;
    let [lines, bytes, characters] = [0, 0, 0];
    for (const line of this.#waiting) {
      bytes += Buffer.byteLength(line);
      if (lines > 0 && bytes > most) break;
      characters += line.length;
      lines++;
    }
    const taken = Buffer.from(this.#waiting.splice(0, lines).join(''));
    this.#rest = taken;
    this.#restLines = lines;
    this.#restCharacters = characters;
    return taken;
  }

  /** Opens the file anew when its name leads to another one, or to none. */
  async #followName(): Promise<void> {
    const { path, clock } = this.#parts;
    if (path === null || this.#file === null || clock.monotonic() - this.#lookedAt < LOOK_MS) return;
    const [named, held] = await Promise.all([stat(path).catch(() => null), this.#file.stat()]);
    if (named?.ino !== held.ino || named.dev !== held.dev) {
      const opened = await openFile(path);
      await this.#file.close();
      this.#file = opened;
    }
    this.#lookedAt = clock.monotonic();
  }
}

async function openFile(path: string): Promise<FileHandle> {
  return await open(path, 'a', MODE);
}
